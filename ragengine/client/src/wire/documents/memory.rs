//! Limits the memory of the documents of a request.
//!
//! A request may take 2.5 times its body plus 16 MiB. The body itself stays in memory while it is read, so that its
//! documents may take 1.5 times its length plus most of the 16 MiB. A value takes 72 bytes and an object at least 450,
//! where the JSON has as few as two or five. A limit on the number of values would therefore be too strict for 10,000
//! short documents with a few fields, or too loose for nested objects. So the memory itself is counted.
//!
//! | document | JSON | in memory | beyond |
//! |---|---|---|---|
//! | `{"text":"a"}` | 12 | 353 | 335 |
//! | `{"text":"a","metadata":{"":[{},{}]}}` | 36 | 981 | 927 |
//! | a sentence, with `title`, `url` and `page` | 100 | 960 | 800 |
//! | 500 characters and seven fields | 650 | 2,100 | 1,100 |
//!
//! The limit allows 13,000 of the second document, and of the last two as many as the default of `limits.maxDocuments`.

use ragengine_json::{allocated_bytes, json_bytes, memory_bytes};

use super::Document;

/// Memory that the documents of a request may take in addition to 1.5 times their JSON, in bytes.
pub(super) const MAX_UNEXPLAINED_BYTES: usize = 12 << 20;

/// The memory and the JSON length of the documents read so far, in bytes.
#[derive(Debug, Default)]
pub(super) struct MemoryUse {
    memory_bytes: usize,
    json_bytes: usize,
}

impl MemoryUse {
    pub(super) fn add(&mut self, document: &Document) {
        let Document { doc_id, text, metadata, source, revision } = document;
        let texts = [Some(text), doc_id.as_ref(), source.as_ref(), revision.as_ref()].into_iter().flatten();
        // Twice its size, because a growing list may have as many free slots.
        let places = 2 * size_of::<Document>();
        let allocated = texts.clone().map(|text| allocated_bytes(text.capacity())).sum::<usize>();
        self.memory_bytes += places + allocated + memory_bytes(metadata);
        // Not the length of `{}`, because empty metadata may have been omitted.
        let metadata = if metadata.is_empty() { 0 } else { r#","metadata":"#.len() + json_bytes(metadata) };
        self.json_bytes += r#"{"text":""}"#.len() + texts.map(String::len).sum::<usize>() + metadata;
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.memory_bytes > MAX_UNEXPLAINED_BYTES + self.json_bytes / 2 * 3
    }
}
