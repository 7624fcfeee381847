use std::sync::Arc;

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

/// Chunks that are analysed into one segment.
const BATCH_ROWS: usize = if cfg!(test) { 7 } else { 4096 };

/// The most characters of a title or a path that are searched for.
const MAX_NAME_CHARACTERS: usize = 200;

impl Index {
    /// Analyses the chunks that are visible now, so that a search by words finds them. Needs processor time.
    ///
    /// # Errors
    ///
    /// [`FullTextError::NotReady`] if there are too many for a search, or tantivy or the disk fails.
    pub(crate) fn analyse_for_search(&self) -> Result<(), FullTextError> {
        let pending = self.view.read().text().pending().len();
        match pending {
            0 => Ok(()),
            _ if pending > MAX_PENDING_ROWS => Err(FullTextError::NotReady { pending }),
            _ => self.analyse_pending(),
        }
    }

    /// Whether there are so many chunks to analyse that it is not left to a search.
    pub(super) fn is_analysis_due(&self) -> bool {
        self.view.read().text().pending().len() > MAX_PENDING_ROWS / 2
    }

    /// Analyses all chunks that are visible now.
    pub(super) fn analyse_pending(&self) -> Result<(), FullTextError> {
        let _turn = self.full_text.turn.lock();
        let (rows, reader) = {
            let view = self.view.read();
            (view.text().pending().iter().collect::<Vec<u64>>(), Arc::clone(view.reader()))
        };
        for batch in rows.chunks(BATCH_ROWS) {
            self.require_rebuild().map_err(|error| FullTextError::Stopped(Box::new(error)))?;
            let segment = TextSegment::of_chunks(&self.full_text.analyzer, &texts(&reader, batch)?)?;
            self.view.write().text_mut().take(segment);
            while self.merge_in_memory()? {}
        }
        Ok(())
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
