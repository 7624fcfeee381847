use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Read};

use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};

use super::check::{Checker, check_header};
use super::entry::Entry;
use super::manifest::{End, FormatOnly, IndexHeader, Manifest};
use super::write::digest_entry;
use super::{ArchiveError, FORMAT, Row};

/// The longest manifest, header or end entry.
const MAX_JSON_BYTES: u64 = 16 << 20;

/// The most padding after the end entry. Tar pads with zeros.
const MAX_PADDING_BYTES: u64 = 1 << 20;

/// The batch of rows that is passed on, in bytes of memory. Short rows need many times their encoded size in memory, so
/// a whole block would be too much.
const MAX_ROWS_BYTES: u64 = 1 << 20;

/// A part of an archive. The manifest comes first; then each index follows with its name, its header and its rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// The manifest.
    Manifest(Manifest),
    /// The start of an index: its name and header.
    Index(String, Box<IndexHeader>),
    /// The next rows of that index.
    Rows(Vec<Row>),
}

/// Reads an archive and passes its pieces to `take`. The archive is complete only when this returns without an error;
/// after an error, the caller must undo the effects of `take`.
///
/// # Errors
///
/// [`ArchiveError`], or the error of `take`.
pub fn read<E: From<ArchiveError>>(
    source: impl Read,
    max_block_bytes: u64,
    mut take: impl FnMut(Piece) -> Result<(), E>,
) -> Result<(), E> {
    let outcome = Cell::new(ReadOutcome::Bytes);
    let explained = |error| outcome.get().explain(error);
    let mut archive = Archive::new(TrackedSource { source, outcome: &outcome });
    let mut state = State::default();
    // Raw entries: otherwise the library reads an extended name into memory, however long it is.
    for entry in archive.entries().map_err(explained)?.raw(true) {
        let mut entry = entry.map_err(|error| state.broken(explained(error)))?;
        let kind = match entry.header().entry_type() {
            EntryType::Regular => Entry::parse(&entry.path_bytes()),
            _ => None,
        };
        let Some(kind) = kind else { return Err(state.foreign().into()) };
        let size = entry.size();
        let limit = if matches!(kind, Entry::Block(..)) { max_block_bytes } else { MAX_JSON_BYTES };
        if size > limit {
            return Err(ArchiveError::damaged(format!("{} has {size} bytes", kind.name())).into());
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(explained)?;
        if bytes.len() as u64 != size {
            return Err(ArchiveError::BrokenOff.into());
        }
        state.step(&kind, &bytes, &mut take)?;
    }
    state.finish(archive.into_inner())?;
    Ok(())
}

/// A source that remembers the outcome of its last read. The tar library reports every failure as malformed input, so
/// its errors alone do not say whether the source failed or ended early.
struct TrackedSource<'a, R> {
    source: R,
    outcome: &'a Cell<ReadOutcome>,
}

/// The outcome of the last read of the source.
#[derive(Debug, Clone, Copy)]
enum ReadOutcome {
    Bytes,
    End,
    Failure,
}

impl<R: Read> Read for TrackedSource<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.source.read(buffer);
        self.outcome.set(match &result {
            Ok(0) if !buffer.is_empty() => ReadOutcome::End,
            Ok(_) => ReadOutcome::Bytes,
            Err(_) => ReadOutcome::Failure,
        });
        result
    }
}

impl ReadOutcome {
    fn explain(self, error: io::Error) -> ArchiveError {
        match self {
            Self::Bytes => ArchiveError::damaged(error),
            Self::End => ArchiveError::BrokenOff,
            Self::Failure => ArchiveError::Read(error),
        }
    }
}

/// The position in an archive.
#[derive(Default)]
struct State {
    manifest: Option<Manifest>,
    digest: Sha256,
    started: usize,
    /// The index that is being read: its name, its number of blocks so far, and the checks of its rows.
    open: Option<(String, u32, Checker)>,
    has_ended: bool,
}

impl State {
    fn step<E: From<ArchiveError>>(
        &mut self,
        entry: &Entry,
        bytes: &[u8],
        take: &mut impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.has_ended {
            return Err(ArchiveError::damaged("data follows its end").into());
        }
        let piece = match (entry, &self.manifest) {
            (Entry::Manifest, None) => {
                let manifest = manifest(bytes)?;
                self.manifest = Some(manifest.clone());
                Some(Piece::Manifest(manifest))
            }
            (_, None) => return Err(ArchiveError::Foreign.into()),
            (Entry::Header(name), Some(manifest)) if manifest.indexes.get(self.started) == Some(name) => {
                let header: IndexHeader = json(entry, bytes)?;
                check_header(&header)?;
                self.close_index()?;
                self.started += 1;
                self.open = Some((name.clone(), 0, Checker::new(header.clone())));
                Some(Piece::Index(name.clone(), Box::new(header)))
            }
            (Entry::Block(name, number), Some(_)) => {
                self.block(name, *number, bytes, take)?;
                None
            }
            (Entry::End, Some(manifest)) if manifest.indexes.len() == self.started => {
                self.close_index()?;
                let end: End = json(entry, bytes)?;
                if end.sha256 != hex::encode(std::mem::take(&mut self.digest).finalize()) {
                    return Err(ArchiveError::damaged("its checksum does not match").into());
                }
                self.has_ended = true;
                None
            }
            _ => return Err(out_of_place(entry).into()),
        };
        digest_entry(&mut self.digest, &entry.name(), bytes);
        piece.map_or(Ok(()), take)
    }

    fn block<E: From<ArchiveError>>(
        &mut self,
        name: &str,
        number: u32,
        bytes: &[u8],
        take: &mut impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some((_, last, checker)) = self.open.as_mut().filter(|(open, last, _)| open == name && *last + 1 == number)
        else {
            return Err(out_of_place(&Entry::Block(name.to_owned(), number)).into());
        };
        *last = number;
        let (mut rows, mut rows_bytes, mut rest) = (Vec::new(), 0, bytes);
        while !rest.is_empty() {
            let (row, after) = postcard::take_from_bytes::<Row>(rest).map_err(ArchiveError::damaged)?;
            checker.take(&row)?;
            rows_bytes += row.bytes();
            rows.push(row);
            rest = after;
            if rows_bytes >= MAX_ROWS_BYTES || rest.is_empty() {
                take(Piece::Rows(std::mem::take(&mut rows)))?;
                rows_bytes = 0;
            }
        }
        Ok(())
    }

    fn close_index(&mut self) -> Result<(), ArchiveError> {
        self.open.take().map_or(Ok(()), |(_, _, checker)| checker.finish())
    }

    /// Checks that only tar's padding follows the end entry.
    fn finish(&self, rest: impl Read) -> Result<(), ArchiveError> {
        match (self.has_ended, &self.manifest) {
            (false, None) => return Err(ArchiveError::Foreign),
            (false, Some(_)) => return Err(ArchiveError::BrokenOff),
            (true, _) => {}
        }
        let mut padding = Vec::new();
        rest.take(MAX_PADDING_BYTES + 1).read_to_end(&mut padding).map_err(ArchiveError::Read)?;
        if padding.len() as u64 <= MAX_PADDING_BYTES && padding.iter().all(|byte| *byte == 0) {
            Ok(())
        } else {
            Err(ArchiveError::damaged("data follows its end"))
        }
    }

    fn foreign(&self) -> ArchiveError {
        match &self.manifest {
            None => ArchiveError::Foreign,
            Some(_) => ArchiveError::damaged("it has an unknown entry"),
        }
    }

    /// Input that fails before the manifest is not an archive, rather than a damaged one.
    fn broken(&self, error: ArchiveError) -> ArchiveError {
        match error {
            ArchiveError::Damaged(_) | ArchiveError::BrokenOff if self.manifest.is_none() => ArchiveError::Foreign,
            error => error,
        }
    }
}

fn manifest(bytes: &[u8]) -> Result<Manifest, ArchiveError> {
    let FormatOnly { format } = serde_json::from_slice(bytes).map_err(|_| ArchiveError::Foreign)?;
    if format > FORMAT {
        return Err(ArchiveError::Newer(format));
    }
    let manifest: Manifest = json(&Entry::Manifest, bytes)?;
    let names: HashSet<&String> = manifest.indexes.iter().collect();
    if names.len() == manifest.indexes.len() {
        Ok(manifest)
    } else {
        Err(ArchiveError::damaged("it names an index twice"))
    }
}

fn json<T: DeserializeOwned>(entry: &Entry, bytes: &[u8]) -> Result<T, ArchiveError> {
    serde_json::from_slice(bytes).map_err(|error| ArchiveError::Damaged(format!("{}: {error}", entry.name())))
}

fn out_of_place(entry: &Entry) -> ArchiveError {
    ArchiveError::Damaged(format!("{} is out of place", entry.name()))
}
