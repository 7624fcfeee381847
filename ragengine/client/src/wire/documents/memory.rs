//! What the documents of a request take in memory.
//!
//! A request may take 16 MiB beyond two and a half times its body. The body itself is there while it is read, so that its documents have one
//! and a half times their bytes, and of the 16 MiB most: the rest is for what a request takes otherwise. A value has 72 bytes, an object that
//! is not empty 450 or more, where the JSON has two or five: counted as values, what fits into the bound would be a few fields for each of
//! 10,000 short documents, or too much. So memory is counted as it is.
//!
//! | document | JSON | in memory | beyond |
//! |---|---|---|---|
//! | `{"text":"a"}` | 12 | 353 | 335 |
//! | `{"text":"a","metadata":{"":[{},{}]}}` | 36 | 981 | 927 |
//! | a sentence, with `title`, `url` and `page` | 100 | 960 | 800 |
//! | 500 characters and seven fields | 650 | 2,100 | 1,100 |
//!
//! Of the second there is room for 13,000, however long the body is; of the last two for `limits.maxDocuments` as it is by default.

use ragengine_json::{allocated_bytes, json_bytes, memory_bytes};

use super::Document;

/// What the documents of a request may take beyond one and a half times their JSON.
pub(super) const MAX_UNEXPLAINED_BYTES: usize = 12 << 20;

/// What the documents that were read take.
#[derive(Debug, Default)]
pub(super) struct Taken {
    memory_bytes: usize,
    json_bytes: usize,
}

impl Taken {
    pub(super) fn add(&mut self, document: &Document) {
        let Document { doc_id, text, metadata, source, revision } = document;
        let texts = [Some(text), doc_id.as_ref(), source.as_ref(), revision.as_ref()].into_iter().flatten();
        // Twice its place: a list that grows may have as many free ones.
        let places = 2 * size_of::<Document>();
        let allocated = texts.clone().map(|text| allocated_bytes(text.capacity())).sum::<usize>();
        self.memory_bytes += places + allocated + memory_bytes(metadata);
        // None, and not `{}`: who has none may have sent none.
        let metadata = if metadata.is_empty() { 0 } else { r#","metadata":"#.len() + json_bytes(metadata) };
        self.json_bytes += r#"{"text":""}"#.len() + texts.map(String::len).sum::<usize>() + metadata;
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.memory_bytes > MAX_UNEXPLAINED_BYTES + self.json_bytes / 2 * 3
    }
}
