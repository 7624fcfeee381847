use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::error::KaitoError;
use crate::stores::{Chunk, Document, Wrapped};

/// Between two chunks, llama-index leaves out white space only. A longer gap is a wrong place.
const MAX_GAP_CHARS: usize = 1_000;

/// A document of a persisted index.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedDocument {
    /// Its id.
    pub doc_id: String,
    /// Its text, joined from its chunks, because KAITO does not keep the text itself.
    pub text: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// Its chunks that have text, in order.
    pub chunks: Vec<ImportedChunk>,
}

/// A chunk of a document, as KAITO cut it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedChunk {
    /// Its id, which its vector is found by.
    pub node_id: String,
    /// Its text.
    pub text: String,
}

/// Joins the chunks of a document. None if it has no text.
///
/// # Errors
///
/// [`KaitoError::MissingChunk`].
pub fn imported(
    doc_id: String,
    document: Document,
    store: &HashMap<String, Wrapped>,
) -> Result<Option<ImportedDocument>, KaitoError> {
    let (mut joined, mut chunks) = (JoinedText::default(), Vec::new());
    for node_id in document.node_ids {
        let Some(Wrapped { data: chunk }) = store.get(&node_id) else {
            return Err(KaitoError::MissingChunk { doc_id, node_id });
        };
        if !chunk.text.trim().is_empty() {
            joined.add(chunk);
            chunks.push(ImportedChunk { node_id, text: chunk.text.clone() });
        }
    }
    let text = joined.text;
    Ok((!text.is_empty()).then_some(ImportedDocument { doc_id, text, metadata: document.metadata, chunks }))
}

/// A text that is joined from chunks, which may overlap.
#[derive(Debug, Default)]
struct JoinedText {
    text: String,
    /// The end of the text so far in the document, in characters. None if it is not known.
    end: Option<usize>,
}

impl JoinedText {
    /// Adds what the text does not have yet. A chunk whose place is unknown or wrong becomes a paragraph: an overlap is
    /// then in the text twice, but nothing is lost.
    fn add(&mut self, chunk: &Chunk) {
        let end = if self.text.is_empty() { chunk.start_char_idx } else { self.end };
        let addition = end.zip(chunk.start_char_idx).and_then(|(end, start)| self.addition(chunk, end, start));
        let paragraph = || if self.text.is_empty() { String::new() } else { "\n\n".to_owned() };
        let (gap, rest) = addition.unwrap_or_else(|| (paragraph(), &chunk.text));
        self.text.push_str(&gap);
        self.text.push_str(rest);
        self.end = chunk.start_char_idx.map(|start| start.saturating_add(chunk.text.chars().count()));
    }

    /// The white space before a chunk, and the part of the chunk that is not in the text yet. None if the chunk does
    /// not fit there, or would add nothing: no chunk of llama-index is a part of the one before it.
    fn addition<'a>(&self, chunk: &'a Chunk, end: usize, start: usize) -> Option<(String, &'a str)> {
        if let Some(gap) = start.checked_sub(end) {
            let space = if gap == 1 { " " } else { "\n" };
            return (gap <= MAX_GAP_CHARS).then(|| (space.repeat(gap), chunk.text.as_str()));
        }
        let (overlap, _) = chunk.text.char_indices().nth(end - start)?;
        let (known, new) = chunk.text.split_at(overlap);
        self.text.ends_with(known).then(|| (String::new(), new))
    }
}

#[cfg(test)]
mod tests;
