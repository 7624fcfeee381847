//! The properties of objects. Their names are ours only: no name is made from what a user sent.

/// A property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Property(&'static str);

impl Property {
    /// The id of an object.
    pub const ID: Self = Self("id");
    /// The document's id, as the user wrote it.
    pub const DOC_ID: Self = Self("doc_id");
    /// The id of the object of the document.
    pub const DOCUMENT: Self = Self("document");
    /// The write that made the object.
    pub const GENERATION: Self = Self("generation");
    /// The place of a document in lists: when it was first written, in microseconds since 1970.
    pub const PLACE: Self = Self("place");
    /// The metadata, as JSON.
    pub const METADATA: Self = Self("metadata");
    /// The name of the source.
    pub const SOURCE: Self = Self("source");
    /// The hash of a document's text and metadata.
    pub const CONTENT_HASH: Self = Self("content_hash");
    /// The revision that the source reported.
    pub const REVISION: Self = Self("revision");
    /// How many chunks a document has.
    pub const CHUNK_COUNT: Self = Self("chunk_count");
    /// The size of a document's text, in bytes.
    pub const TEXT_BYTES: Self = Self("text_bytes");
    /// A text, as the user wrote it.
    pub const TEXT: Self = Self("text");
    /// The places of a document's chunks, as JSON.
    pub const OUTLINE: Self = Self("outline");
    /// The position of a chunk in its document, from 0.
    pub const ORDINAL: Self = Self("ordinal");
    /// The headings above a chunk.
    pub const HEADING: Self = Self("heading");
    /// The page of a chunk.
    pub const PAGE: Self = Self("page");
    /// The hash of the embedded text of a chunk, in hexadecimal digits.
    pub const HASH: Self = Self("hash");
    /// The words of a chunk as they are searched for.
    pub const TERMS: Self = Self("terms");
    /// What is equal in filters: keys and values of the metadata, and the source.
    pub const TOKENS: Self = Self("tokens");
    /// What is compared in filters.
    pub const RANGES: Self = Self("ranges");

    /// Whether an object may lack it.
    pub fn is_optional(self) -> bool {
        [Self::SOURCE, Self::REVISION, Self::HEADING, Self::PAGE].contains(&self)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.0
    }
}
