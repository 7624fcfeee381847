//! Documents as plain data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::VectorDatabaseError;
use crate::generation::Generation;
use crate::object::Found;
use crate::property::Property;

/// A document to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its id.
    pub doc_id: String,
    /// Its text.
    pub text: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// The name of the source it comes from.
    pub source: Option<String>,
    /// The hash of its text and metadata.
    pub content_hash: String,
    /// The revision that its source reported.
    pub revision: Option<String>,
    /// Its chunks, in order.
    pub chunks: Vec<Chunk>,
}

/// A chunk to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Its place in the document.
    pub place: ChunkPlace,
    /// Its text.
    pub text: String,
    /// Its words as they are searched for, with spaces between them: stems without stop words, or whatever queries are
    /// analysed to. Weaviate changes none of them.
    pub terms: String,
    /// Its vector, of length 1.
    pub vector: Vec<f32>,
}

/// The place of a chunk in its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkPlace {
    /// Where it begins in the text, in characters. None if its text differs from the document's.
    pub start: Option<usize>,
    /// Where it ends, in characters.
    pub end: Option<usize>,
    /// The headings above it, joined by ` > `.
    pub heading: Option<String>,
    /// Its page, from 1, if the document is split by pages.
    pub page: Option<u32>,
    /// The hash of its embedded text, in hexadecimal digits.
    pub hash: String,
}

/// A document that is stored, without its text.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentRecord {
    /// The id of its object.
    pub id: Uuid,
    /// Its id.
    pub doc_id: String,
    /// The write whose chunks are shown.
    pub generation: Generation,
    /// Its place in lists: when it was first written, in microseconds since 1970.
    pub place_us: u64,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// The size of its metadata as JSON, in bytes.
    pub metadata_bytes: usize,
    /// The name of its source.
    pub source: Option<String>,
    /// The hash of its text and metadata.
    pub content_hash: String,
    /// The revision that its source reported.
    pub revision: Option<String>,
    /// How many chunks it has.
    pub chunk_count: u64,
    /// The size of its text, in bytes.
    pub text_bytes: u64,
}

/// A document with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeDocument {
    /// The document.
    pub record: DocumentRecord,
    /// Its text.
    pub text: String,
    /// The places of its chunks, in order.
    pub chunks: Vec<ChunkPlace>,
}

/// A chunk that is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredChunk {
    /// Its position in the document, from 0.
    pub ordinal: u32,
    /// The headings above it, joined by ` > `.
    pub heading: Option<String>,
    /// Its page, from 1.
    pub page: Option<u32>,
    /// Its text.
    pub text: String,
    /// The hash of its embedded text, in hexadecimal digits.
    pub hash: String,
    /// Its vector.
    pub vector: Vec<f32>,
}

impl StoredChunk {
    /// The properties of a chunk, without what filters ask and its words.
    pub(crate) const PROPERTIES: &[Property] =
        &[Property::DOCUMENT, Property::ORDINAL, Property::HEADING, Property::PAGE, Property::TEXT, Property::HASH];

    /// The chunk in an object, and the id of its document's object.
    pub(crate) fn read(found: Found) -> Result<(Uuid, Self), VectorDatabaseError> {
        let Found { properties, vector, .. } = found;
        let document = text(&properties, Property::DOCUMENT)?.parse().map_err(|_| damaged(Property::DOCUMENT))?;
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let chunk = Self {
            ordinal: small(number(&properties, Property::ORDINAL)?),
            heading: optional_text(&properties, Property::HEADING).map(str::to_owned),
            page: optional_number(&properties, Property::PAGE).map(small),
            text: text(&properties, Property::TEXT)?.to_owned(),
            hash: text(&properties, Property::HASH)?.to_owned(),
            vector,
        };
        Ok((document, chunk))
    }
}

/// The properties of a record.
pub const RECORD_PROPERTIES: &[Property] = &[
    Property::DOC_ID,
    Property::GENERATION,
    Property::PLACE,
    Property::METADATA,
    Property::SOURCE,
    Property::CONTENT_HASH,
    Property::REVISION,
    Property::CHUNK_COUNT,
    Property::TEXT_BYTES,
];

impl DocumentRecord {
    /// The record in the properties of its object.
    pub(crate) fn read(id: Uuid, properties: &Map<String, Value>) -> Result<Self, VectorDatabaseError> {
        let metadata = text(properties, Property::METADATA)?;
        let record = Self {
            id,
            doc_id: text(properties, Property::DOC_ID)?.to_owned(),
            generation: Generation::stored(text(properties, Property::GENERATION)?),
            place_us: number(properties, Property::PLACE)?,
            metadata_bytes: metadata.len(),
            metadata: serde_json::from_str(metadata).map_err(|_| damaged(Property::METADATA))?,
            source: optional_text(properties, Property::SOURCE).map(str::to_owned),
            content_hash: text(properties, Property::CONTENT_HASH)?.to_owned(),
            revision: optional_text(properties, Property::REVISION).and_then(|kept| revision_of(kept, properties)),
            chunk_count: number(properties, Property::CHUNK_COUNT)?,
            text_bytes: number(properties, Property::TEXT_BYTES)?,
        };
        Ok(record)
    }

    /// The properties of its object, without what filters ask.
    pub(crate) fn properties(&self) -> Vec<(Property, Value)> {
        let mut properties = vec![
            (Property::DOC_ID, Value::from(self.doc_id.as_str())),
            (Property::GENERATION, self.generation.as_str().into()),
            (Property::PLACE, self.place_us.into()),
            (Property::METADATA, Value::Object(self.metadata.clone()).to_string().into()),
            (Property::CONTENT_HASH, self.content_hash.as_str().into()),
            (Property::CHUNK_COUNT, self.chunk_count.into()),
            (Property::TEXT_BYTES, self.text_bytes.into()),
        ];
        properties.extend(self.source.as_deref().map(|source| (Property::SOURCE, Value::from(source))));
        let revision = self.revision.as_deref().map(|revision| kept_revision(&self.content_hash, revision));
        properties.extend(revision.map(|revision| (Property::REVISION, Value::from(revision))));
        properties
    }
}

/// A revision as it is kept: with the hash of its content, because it is set without a look at the other properties.
pub fn kept_revision(content_hash: &str, revision: &str) -> String {
    format!("{content_hash} {revision}")
}

/// The revision of the content that the document has. None if it is that of another content.
fn revision_of(kept: &str, properties: &Map<String, Value>) -> Option<String> {
    let revision = kept.strip_prefix(optional_text(properties, Property::CONTENT_HASH)?)?.strip_prefix(' ')?;
    Some(revision.to_owned())
}

/// A text that an object has.
pub fn text(properties: &Map<String, Value>, property: Property) -> Result<&str, VectorDatabaseError> {
    optional_text(properties, property).ok_or_else(|| damaged(property))
}

/// A text that an object may have.
pub fn optional_text(properties: &Map<String, Value>, property: Property) -> Option<&str> {
    properties.get(property.name())?.as_str()
}

/// A number that an object has.
pub fn number(properties: &Map<String, Value>, property: Property) -> Result<u64, VectorDatabaseError> {
    optional_number(properties, property).ok_or_else(|| damaged(property))
}

/// A number that an object may have.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Weaviate has floats up to 2^53")]
pub fn optional_number(properties: &Map<String, Value>, property: Property) -> Option<u64> {
    let value = properties.get(property.name())?;
    value.as_u64().or_else(|| value.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64))
}

fn damaged(property: Property) -> VectorDatabaseError {
    VectorDatabaseError::Reply(format!("an object has no {}", property.name()))
}
