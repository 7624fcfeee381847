use roaring::RoaringTreemap;

use super::{ArchiveError, IndexHeader, Row};
use crate::record::DocumentRecord;

/// The part of a document's id that error messages contain, in characters.
const NAMED_BY_CHARACTERS: usize = 128;

/// The widest vectors.
const MAX_DIMENSIONS: usize = 1 << 16;

/// The largest number of the next document or row. Numbers only grow, and one near the end of `u64` would leave no room
/// for the next write.
const MAX_COUNTER: u64 = 1 << 48;

/// Checks what the header of an index says, before its rows.
pub(super) fn check_header(header: &IndexHeader) -> Result<(), ArchiveError> {
    if !(1..=MAX_DIMENSIONS).contains(&header.record.dimensions) {
        return Err(ArchiveError::damaged("an index has an invalid vector width"));
    }
    if header.next_document > MAX_COUNTER || header.next_row > MAX_COUNTER {
        return Err(ArchiveError::damaged("an index has more numbers than were ever used"));
    }
    Ok(())
}

/// Checks that the rows of an index are complete and consistent. It must see them in order.
pub(super) struct Checker {
    header: IndexHeader,
    documents: u64,
    chunks: u64,
    last_number: Option<u64>,
    /// The document whose chunks are being read: its number, its number of chunks, and how many of them were read.
    open: Option<(u64, u32, u32)>,
    rows: RoaringTreemap,
    syncs_have_begun: bool,
}

impl Checker {
    pub(super) fn new(header: IndexHeader) -> Self {
        Self {
            header,
            documents: 0,
            chunks: 0,
            last_number: None,
            open: None,
            rows: RoaringTreemap::new(),
            syncs_have_begun: false,
        }
    }

    /// Checks the next row.
    pub(super) fn take(&mut self, row: &Row) -> Result<(), ArchiveError> {
        let reason = match row {
            Row::Document { number, record, text, .. } => {
                check_metadata(record)?;
                self.document(*number, record, text)
            }
            Row::Chunk { record, vector, .. } => {
                let is_whole =
                    vector.len() == self.header.record.dimensions && vector.iter().all(|value| value.is_finite());
                match &mut self.open {
                    _ if !is_whole => Err("a vector has the wrong width or is not finite"),
                    Some((number, chunks, seen))
                        if record.document == *number && record.ordinal == *seen && *seen < *chunks =>
                    {
                        *seen += 1;
                        self.chunks += 1;
                        Ok(())
                    }
                    _ => Err("a chunk is out of place"),
                }
            }
            Row::Sync { json, .. } => {
                self.syncs_have_begun = true;
                let is_record = serde_json::from_str::<ragengine_client::wire::SourceSync>(json).is_ok();
                self.close().and(is_record.then_some(()).ok_or("the record of a source cannot be read"))
            }
        };
        reason.map_err(ArchiveError::damaged)
    }

    /// Checks the totals after the last row.
    pub(super) fn finish(mut self) -> Result<(), ArchiveError> {
        self.close().map_err(ArchiveError::damaged)?;
        if (self.documents, self.chunks) == (self.header.documents, self.header.chunks) {
            Ok(())
        } else {
            Err(ArchiveError::damaged("the number of documents or chunks does not match the header"))
        }
    }

    fn document(&mut self, number: u64, record: &DocumentRecord, text: &str) -> Result<(), &'static str> {
        self.close()?;
        let end = record.first_row.checked_add(u64::from(record.chunks)).ok_or("a document has no rows")?;
        let is_next = self.last_number.is_none_or(|last| last < number) && !self.syncs_have_begun;
        if !is_next || number >= self.header.next_document || end > self.header.next_row {
            return Err("a document is out of place");
        }
        if record.text_bytes != text.len() as u64 {
            return Err("the length of a document's text does not match its record");
        }
        if self.rows.insert_range(record.first_row..end) != u64::from(record.chunks) {
            return Err("two documents have the same rows");
        }
        (self.documents, self.last_number) = (self.documents + 1, Some(number));
        self.open = Some((number, record.chunks, 0));
        Ok(())
    }

    fn close(&mut self) -> Result<(), &'static str> {
        match self.open.take() {
            Some((_, chunks, seen)) if seen != chunks => Err("chunks of a document are missing"),
            _ => Ok(()),
        }
    }
}

fn check_metadata(record: &DocumentRecord) -> Result<(), ArchiveError> {
    record.check_copied_metadata().map_err(|reason| {
        let doc_id: String = record.doc_id.chars().take(NAMED_BY_CHARACTERS).collect();
        ArchiveError::Damaged(format!("the metadata of document '{doc_id}': {reason}"))
    })
}
