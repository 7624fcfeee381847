use std::sync::Arc;
use std::time::Duration;

use parking_lot::MutexGuard;
use ragengine_client::wire::Metadata;
use serde_json::Value;

use super::FullTextError;
use super::analysis::TextKind;
use super::segment::{ChunkText, TextSegment};
use crate::Index;
use crate::chunking::SplitType;
use crate::store::Reader;

/// The most chunks that a search analyses before it searches, which takes about a second. More are left to the
/// background.
pub(super) const MAX_PENDING_ROWS: u64 = if cfg!(test) { 200 } else { 20_000 };

/// The most chunks for which a search waits for its turn, however long that takes. With more, a thread in the
/// background has begun.
const MAX_AWAITED_ROWS: u64 = MAX_PENDING_ROWS / 2;

/// How long a search waits for its turn when there are more chunks. It keeps others from searching meanwhile.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Chunks that a search analyses into one segment.
const BATCH_ROWS: usize = if cfg!(test) { 7 } else { 4096 };

/// Chunks that the background analyses into one segment. That has a low priority, and a search may be waiting.
const BACKGROUND_ROWS: usize = if cfg!(test) { 7 } else { 1024 };

/// The most characters of a title or a path that are searched for.
const MAX_NAME_CHARACTERS: usize = 200;

impl Index {
    /// Analyses the chunks that are visible now, so that a search by words finds them. Needs processor time.
    ///
    /// # Errors
    ///
    /// [`FullTextError::NotReady`] if there are too many for a search, or many that another thread is analysing, or if
    /// tantivy or the disk fails.
    pub(crate) fn analyse_for_search(&self) -> Result<(), FullTextError> {
        let (pending, last) = self.pending();
        let Some(last) = last else { return Ok(()) };
        let turn = &self.full_text.turn;
        let turn = if pending > MAX_PENDING_ROWS {
            None
        } else if pending > MAX_AWAITED_ROWS {
            turn.try_lock_for(LONGEST_WAIT)
        } else {
            Some(turn.lock())
        };
        let Some(_turn) = turn else { return Err(FullTextError::NotReady { pending }) };
        while self.analyse_batch(last, BATCH_ROWS)? {}
        Ok(())
    }

    /// Whether there are so many chunks to analyse that it is not left to a search.
    pub(super) fn is_analysis_due(&self) -> bool {
        self.pending().0 > MAX_AWAITED_ROWS
    }

    /// Analyses all chunks that are visible now, in the background. A search that waits gets the turn after each batch.
    pub(super) fn analyse_pending(&self) -> Result<(), FullTextError> {
        let (_, Some(last)) = self.pending() else { return Ok(()) };
        loop {
            let turn = self.full_text.turn.lock();
            let is_more = self.analyse_batch(last, BACKGROUND_ROWS)?;
            // Otherwise, this thread would lock it again before the search wakes up.
            MutexGuard::unlock_fair(turn);
            if !is_more {
                return Ok(());
            }
        }
    }

    /// The number of rows that are not analysed yet, and the last of them.
    fn pending(&self) -> (u64, Option<u64>) {
        let view = self.view.read();
        let pending = view.text().pending();
        (pending.len(), pending.max())
    }

    /// Analyses the first chunks up to the row `last`, and at most `most`. Returns false if there are none. The caller
    /// holds the turn.
    fn analyse_batch(&self, last: u64, most: usize) -> Result<bool, FullTextError> {
        let (rows, reader) = {
            let view = self.view.read();
            let rows = view.text().pending().iter().take_while(|row| *row <= last).take(most);
            (rows.collect::<Vec<u64>>(), Arc::clone(view.reader()))
        };
        if rows.is_empty() {
            return Ok(false);
        }
        self.require_rebuild().map_err(|error| FullTextError::Stopped(Box::new(error)))?;
        let segment = TextSegment::of_chunks(&self.full_text.analyzer, &texts(&reader, &rows)?)?;
        self.view.write().text_mut().take(segment);
        while self.merge_in_memory()? {}
        Ok(true)
    }

    /// Merges the latest segments if there are several of about the same size. The caller holds the turn.
    fn merge_in_memory(&self) -> Result<bool, FullTextError> {
        let text = self.view.read().text().clone();
        let Some(parts) = text.to_merge_in_memory() else { return Ok(false) };
        let segments: Vec<_> = parts.iter().map(|part| (&*part.segment, &*part.dead)).collect();
        let merged = TextSegment::merged(&segments)?;
        let replaced = self.view.write().text_mut().replace(parts, merged);
        Ok(replaced.is_some())
    }
}

/// The texts of chunks to analyse.
fn texts(reader: &Reader, rows: &[u64]) -> Result<Vec<ChunkText>, FullTextError> {
    let mut texts = Vec::with_capacity(rows.len());
    let (mut last, mut document) = (None, NamedText::default());
    for (&row, chunk) in rows.iter().zip(reader.chunks(rows.iter().copied())?) {
        if last != Some(chunk.document) {
            last = Some(chunk.document);
            document = of_document(reader, chunk.document)?;
        }
        let text = document.text_of(chunk.heading.as_deref(), &chunk.text);
        texts.push(ChunkText { row, kind: document.kind, text });
    }
    Ok(texts)
}

/// What the chunks of a document have in common when they are analysed.
#[derive(Debug, Clone, Default)]
pub struct NamedText {
    /// How they are analysed.
    pub kind: TextKind,
    /// Its title and its path. Questions name what they are about, and often only these names say it.
    name: String,
}

impl NamedText {
    /// Of a document with this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        let kind = match SplitType::of(metadata) {
            Ok(SplitType::Code(_)) => TextKind::Code,
            _ => TextKind::Prose,
        };
        let named = |key: &str| {
            let name = metadata.get(key).and_then(Value::as_str).unwrap_or_default();
            name.chars().take(MAX_NAME_CHARACTERS).collect::<String>()
        };
        let (title, path) = (named("title"), named("path"));
        let name = if title == path { title } else { format!("{title}\n{path}") };
        Self { kind, name }
    }

    /// The text whose words a chunk is found by.
    pub fn text_of(&self, heading: Option<&str>, text: &str) -> String {
        format!("{}\n{}\n{text}", self.name, heading.unwrap_or_default())
    }
}

fn of_document(reader: &Reader, document: u64) -> Result<NamedText, FullTextError> {
    let record = reader.document(document)?;
    Ok(record.map(|record| NamedText::of(&record.metadata())).unwrap_or_default())
}
