use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Read};

use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};

use super::check::Checker;
use super::entry::Entry;
use super::manifest::{End, FormatOnly, IndexHeader, Manifest};
use super::write::digest_entry;
use super::{ArchiveError, FORMAT, Row};

/// The longest manifest, header or end.
const MAX_JSON_BYTES: u64 = 16 << 20;

/// What follows the end at most: tar fills up with zeros.
const MAX_PADDING_BYTES: u64 = 1 << 20;

/// Rows are given on when they have so many bytes in memory: of a block of short ones they would take many times what it has.
const MAX_ROWS_BYTES: u64 = 1 << 20;

/// The widest vectors.
const MAX_DIMENSIONS: usize = 1 << 16;

/// What comes out of an archive, in this order: its manifest, then of each index its name and header, then its rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// What it holds.
    Manifest(Manifest),
    /// An index begins.
    Index(String, IndexHeader),
    /// Rows of that index: the next.
    Rows(Vec<Row>),
}

/// Reads an archive and gives its pieces to `take`. Only when this returns without an error it was whole: what `take` was given until then must
/// be undone otherwise.
///
/// # Errors
///
/// [`ArchiveError`], or what `take` says.
pub fn read<E: From<ArchiveError>>(
    source: impl Read,
    max_block_bytes: u64,
    mut take: impl FnMut(Piece) -> Result<(), E>,
) -> Result<(), E> {
    let outcome = Cell::new(Outcome::Bytes);
    let told = |error| outcome.get().explain(error);
    let mut archive = Archive::new(Watched { source, outcome: &outcome });
    let mut state = State::default();
    // Raw: an entry that lends the next a longer name would be read into memory, however long.
    for entry in archive.entries().map_err(told)?.raw(true) {
        let mut entry = entry.map_err(|error| state.broken(told(error)))?;
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
        entry.read_to_end(&mut bytes).map_err(told)?;
        if bytes.len() as u64 != size {
            return Err(ArchiveError::BrokenOff.into());
        }
        state.step(&kind, &bytes, &mut take)?;
    }
    state.finish(archive.into_inner())?;
    Ok(())
}

/// A source that remembers what came of it last: the tar library says of everything that it is not what it should be.
struct Watched<'a, R> {
    source: R,
    outcome: &'a Cell<Outcome>,
}

/// What came of reading.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    Bytes,
    End,
    Failure,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.source.read(buffer);
        self.outcome.set(match &result {
            Ok(0) if !buffer.is_empty() => Outcome::End,
            Ok(_) => Outcome::Bytes,
            Err(_) => Outcome::Failure,
        });
        result
    }
}

impl Outcome {
    fn explain(self, error: io::Error) -> ArchiveError {
        match self {
            Self::Bytes => ArchiveError::damaged(error),
            Self::End => ArchiveError::BrokenOff,
            Self::Failure => ArchiveError::Read(error),
        }
    }
}

/// How far an archive was read.
#[derive(Default)]
struct State {
    manifest: Option<Manifest>,
    digest: Sha256,
    begun: usize,
    /// The index whose rows come now, how many blocks of it have come, and what they must be.
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
            return Err(ArchiveError::damaged("it goes on after its end").into());
        }
        let piece = match (entry, &self.manifest) {
            (Entry::Manifest, None) => {
                let manifest = manifest(bytes)?;
                self.manifest = Some(manifest.clone());
                Some(Piece::Manifest(manifest))
            }
            (_, None) => return Err(ArchiveError::Foreign.into()),
            (Entry::Header(name), Some(manifest)) if manifest.indexes.get(self.begun) == Some(name) => {
                let header: IndexHeader = json(entry, bytes)?;
                if !(1..=MAX_DIMENSIONS).contains(&header.record.dimensions) {
                    return Err(ArchiveError::damaged("the vectors of an index have no width").into());
                }
                self.close_index()?;
                self.begun += 1;
                self.open = Some((name.clone(), 0, Checker::new(header.clone())));
                Some(Piece::Index(name.clone(), header))
            }
            (Entry::Block(name, number), Some(_)) => {
                self.block(name, *number, bytes, take)?;
                None
            }
            (Entry::End, Some(manifest)) if manifest.indexes.len() == self.begun => {
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

    /// What follows the end belongs to it, or it is not ours.
    fn finish(&self, rest: impl Read) -> Result<(), ArchiveError> {
        match (self.has_ended, &self.manifest) {
            (false, None) => return Err(ArchiveError::Foreign),
            (false, Some(_)) => return Err(ArchiveError::BrokenOff),
            (true, _) => {}
        }
        let mut padding = Vec::new();
        rest.take(MAX_PADDING_BYTES + 1).read_to_end(&mut padding).map_err(ArchiveError::Read)?;
        match padding.len() as u64 <= MAX_PADDING_BYTES && padding.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(ArchiveError::damaged("it goes on after its end")),
        }
    }

    fn foreign(&self) -> ArchiveError {
        match &self.manifest {
            None => ArchiveError::Foreign,
            Some(_) => ArchiveError::damaged("something is in it that does not belong there"),
        }
    }

    /// What is no tar file from the beginning is not a damaged one of ours.
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
    match names.len() == manifest.indexes.len() {
        true => Ok(manifest),
        false => Err(ArchiveError::damaged("it names an index twice")),
    }
}

fn json<T: DeserializeOwned>(entry: &Entry, bytes: &[u8]) -> Result<T, ArchiveError> {
    serde_json::from_slice(bytes).map_err(|error| ArchiveError::Damaged(format!("{}: {error}", entry.name())))
}

fn out_of_place(entry: &Entry) -> ArchiveError {
    ArchiveError::Damaged(format!("{} is not where it belongs", entry.name()))
}
