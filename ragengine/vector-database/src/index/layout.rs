//! The properties of each collection.

use crate::collection::{DataType, PropertyShape};
use crate::property::Property;

/// Of documents.
pub const DOCUMENTS: &[PropertyShape] = &[
    (Property::DOC_ID, DataType::Stored),
    (Property::GENERATION, DataType::Stored),
    (Property::PLACE, DataType::Number),
    (Property::METADATA, DataType::Stored),
    (Property::SOURCE, DataType::Group),
    (Property::CONTENT_HASH, DataType::Stored),
    (Property::REVISION, DataType::Stored),
    (Property::CHUNK_COUNT, DataType::Integer),
    (Property::TEXT_BYTES, DataType::Integer),
    (Property::TOKENS, DataType::Hashes),
    (Property::RANGES, DataType::Hashes),
];

/// Of texts.
pub const TEXTS: &[PropertyShape] = &[
    (Property::DOCUMENT, DataType::Exact),
    (Property::GENERATION, DataType::Exact),
    (Property::TEXT, DataType::Stored),
    (Property::OUTLINE, DataType::Stored),
];

/// Of chunks.
pub const CHUNKS: &[PropertyShape] = &[
    (Property::DOCUMENT, DataType::Exact),
    (Property::GENERATION, DataType::Exact),
    (Property::ORDINAL, DataType::StoredInteger),
    (Property::HEADING, DataType::Stored),
    (Property::PAGE, DataType::StoredInteger),
    (Property::TEXT, DataType::Stored),
    (Property::HASH, DataType::Exact),
    (Property::TERMS, DataType::Words),
    (Property::TOKENS, DataType::Hashes),
    (Property::RANGES, DataType::Hashes),
];
