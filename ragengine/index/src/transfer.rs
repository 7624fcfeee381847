//! Copying indexes out of a running server and into one.

mod admitted;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use ragengine_settings::EmbeddingSource;
use tracing::{info, warn};

use self::admitted::admitted;
use super::archive::{ArchiveError, ArchiveWriter, Manifest, Piece, read};
use super::catalog::{Catalog, Existing, Staged};
use super::name::check_name;
use super::persisted::Persisted;
use super::room::Room;
use super::store::StoreError;
use super::{Index, IndexError};
use ragengine_errors::texts;

/// The buffer for reading and writing files, in bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// The name of each index of an archive that is restored, or none if it is passed over.
///
/// # Errors
///
/// [`IndexError::NotInCopy`].
pub fn chosen(manifest: &Manifest, only: Option<&str>) -> Result<Vec<Option<String>>, IndexError> {
    if let Some(only) = only
        && !manifest.indexes.iter().any(|name| name == only)
    {
        return Err(IndexError::NotInCopy { index: only.to_owned(), indexes: manifest.indexes.clone() });
    }
    let is_wanted = |name: &String| only.is_none_or(|only| name == only);
    Ok(manifest.indexes.iter().map(|name| is_wanted(name).then(|| name.clone())).collect())
}

/// The embedding settings of a copy, which is untrusted, without what it must not control. `known` are the settings of
/// the server, which come first, and of its indexes.
pub fn admit(source: EmbeddingSource, known: &[EmbeddingSource]) -> EmbeddingSource {
    let admitted = admitted(source.clone(), known);
    if admitted != source {
        warn!(
            "the backup's embedding settings name a key, a hub or a number of threads that this server does not use; \
             ignoring them"
        );
    }
    admitted
}

impl Catalog {
    /// Writes indexes to an archive, each in its state when its turn comes. No lock is held, so writers continue.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Write`] if the output fails, or an error of the store.
    pub fn export<W: Write>(&self, indexes: &[Arc<Index>], output: W) -> Result<W, IndexError> {
        let names = indexes.iter().map(|index| index.name().to_owned()).collect();
        let mut archive = ArchiveWriter::begin(output, &Manifest::new(self.data_id(), names))?;
        for index in indexes {
            let reader = index.store.reader()?;
            archive.index(index.name(), &reader.header(index.record())?)?;
            reader.each_row(|row| Ok::<(), IndexError>(archive.row(&row)?))?;
        }
        Ok(archive.end()?)
    }

    /// All indexes, ordered by name.
    ///
    /// # Errors
    ///
    /// If one of them is unavailable.
    pub fn all_or_none(&self) -> Result<Vec<Arc<Index>>, IndexError> {
        let indexes = self.names().into_iter().map(|name| self.get(&name));
        // An index that was deleted since the names were listed is skipped.
        indexes.filter(|index| !matches!(index, Err(IndexError::NoSuchIndex(_)))).collect()
    }

    /// Creates the indexes of an archive, or one of them, in one step when the archive has been read completely.
    ///
    /// # Errors
    ///
    /// An error of the archive, [`IndexError::NotInCopy`] or [`IndexError::Exists`]. Nothing has changed then.
    pub fn import(
        &self,
        source: impl Read,
        existing: Existing,
        max_block_bytes: u64,
        only: Option<&str>,
    ) -> Result<Vec<Arc<Index>>, IndexError> {
        let known = self.embedding_sources();
        let options = ImportOptions { existing, max_block_bytes };
        self.import_as(source, options, |manifest| chosen(manifest, only), |source| admit(source, &known))
    }

    /// The embedding settings of the server and of its indexes.
    fn embedding_sources(&self) -> Vec<EmbeddingSource> {
        let of_indexes = self.all().into_iter().filter_map(|index| index.embedding_source().ok().flatten());
        [self.embedding().clone()].into_iter().chain(of_indexes).collect()
    }

    /// Persists an index: writes a copy of it to the data folder.
    ///
    /// # Errors
    ///
    /// If there is no such index, the copy's name is invalid, or the disk fails. The previous copy is kept then.
    pub fn persist(&self, index: &str, copy: &str) -> Result<(), IndexError> {
        let index = self.get(index)?;
        let persisted = Persisted::open(self.directory())?;
        let partial = persisted.write(copy)?;
        let file = Bounded { file: &partial.file, room: Room::of(self.directory())? };
        let output = BufWriter::with_capacity(BUFFER_BYTES, file);
        let mut output = self.export(&[Arc::clone(&index)], output).map_err(of_disk)?;
        output.flush().map_err(StoreError::from)?;
        drop(output);
        partial.finish()?;
        info!(index = index.name(), copy = texts::id(copy), "index persisted");
        Ok(())
    }

    /// Loads a persisted copy as the index `index`, whatever its original name. Returns the index.
    ///
    /// # Errors
    ///
    /// If there is no such copy, it is incomplete or holds several indexes, or [`IndexError::Exists`]. Nothing has
    /// changed then.
    pub fn load_persisted(
        &self,
        index: &str,
        copy: &str,
        existing: Existing,
        max_block_bytes: u64,
    ) -> Result<Arc<Index>, IndexError> {
        let persisted = Persisted::open(self.directory())?;
        let source = BufReader::with_capacity(BUFFER_BYTES, persisted.read(copy)?);
        let named = |manifest: &Manifest| match manifest.indexes.as_slice() {
            [_] => Ok(vec![Some(index.to_owned())]),
            several => Err(IndexError::ManyIndexes { copy: copy.to_owned(), indexes: several.len() }),
        };
        let options = ImportOptions { existing, max_block_bytes };
        let made = self.import_as(source, options, named, |source| source).map_err(of_disk)?;
        made.into_iter().next().ok_or_else(|| IndexError::NoSuchIndex(index.to_owned()))
    }

    /// Checks that the volume has this much usable space.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`], or an error of the disk.
    pub fn require_free_bytes(&self, bytes: u64) -> Result<(), IndexError> {
        Ok(Room::of(self.directory())?.take(bytes)?)
    }

    fn import_as(
        &self,
        source: impl Read,
        options: ImportOptions,
        named: impl Fn(&Manifest) -> Result<Vec<Option<String>>, IndexError>,
        admit: impl Fn(EmbeddingSource) -> EmbeddingSource,
    ) -> Result<Vec<Arc<Index>>, IndexError> {
        let mut names = Vec::new().into_iter();
        let mut made: Vec<(String, Staged)> = Vec::new();
        let mut is_wanted = false;
        read(source, options.max_block_bytes, |piece| {
            match piece {
                Piece::Manifest(manifest) => {
                    let all = named(&manifest)?;
                    let wanted: Vec<String> = all.iter().flatten().cloned().collect();
                    wanted.iter().try_for_each(|name| check_name(name))?;
                    // Checked early, before everything was sent. `publish` checks again.
                    self.require_room_for(&wanted, options.existing)?;
                    names = all.into_iter();
                }
                Piece::Index(_, mut header) => {
                    flush(&mut made)?;
                    let name = names.next().flatten();
                    is_wanted = name.is_some();
                    header.embedding = header.embedding.map(&admit);
                    name.map_or(Ok(()), |name| self.stage(&header).map(|staged| made.push((name, staged))))?;
                }
                Piece::Rows(rows) if is_wanted => made.last_mut().map_or(Ok(()), |(_, staged)| staged.put(rows))?,
                Piece::Rows(_) => {}
            }
            Ok::<(), IndexError>(())
        })?;
        flush(&mut made)?;
        self.publish(made, options.existing)
    }
}

/// Writes the buffered rows of the last index.
fn flush(made: &mut [(String, Staged)]) -> Result<(), IndexError> {
    made.last_mut().map_or(Ok(()), |(_, staged)| staged.flush())
}

/// Options for reading an archive.
#[derive(Clone, Copy)]
struct ImportOptions {
    /// What to do if an index of the same name exists.
    existing: Existing,
    /// The longest block, in bytes.
    max_block_bytes: u64,
}

/// A file that stops before its volume is full.
struct Bounded<'a> {
    file: &'a File,
    room: Room,
}

impl Write for Bounded<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.room.take(buffer.len() as u64).map_err(|error| match error {
            StoreError::Full => io::Error::from(io::ErrorKind::StorageFull),
            error => io::Error::other(error),
        })?;
        self.file.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The archive is on the server's disk, so a failure to read or write it is an error of the disk.
fn of_disk(error: IndexError) -> IndexError {
    match error {
        IndexError::Archive(ArchiveError::Read(error) | ArchiveError::Write(error)) => StoreError::from(error).into(),
        error => error,
    }
}

#[cfg(test)]
mod tests;
