//! The ids of objects: UUIDs made from what the objects are, so that a write that is repeated meets its own objects.

use uuid::Uuid;

use crate::generation::Generation;

/// The id of the object of a document.
pub fn of_document(index: &str, doc_id: &str) -> Uuid {
    named(&["document", index, doc_id])
}

/// The id of the object of a document's text.
pub fn of_text(document: Uuid, generation: &Generation) -> Uuid {
    named(&["text", &document.to_string(), generation.as_str()])
}

/// The id of the object of a chunk. Each write of the document has its own, because the chunks of the write before are
/// shown until all new ones are there.
pub fn of_chunk(document: Uuid, generation: &Generation, ordinal: u32) -> Uuid {
    named(&["chunk", &document.to_string(), generation.as_str(), &ordinal.to_string()])
}

/// The UUID of these parts. The length of each keeps them apart.
fn named(parts: &[&str]) -> Uuid {
    let mut name = Vec::new();
    for part in parts {
        name.extend((part.len() as u64).to_le_bytes());
        name.extend(part.as_bytes());
    }
    Uuid::new_v5(&Uuid::NAMESPACE_OID, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_in_every_part_and_stay() {
        let document = of_document("a", "bc");
        assert_eq!(document, of_document("a", "bc"));
        assert_ne!(document, of_document("ab", "c"));
        let (one, other) = (Generation::at(1), Generation::at(1));
        assert_ne!(of_chunk(document, &one, 0), of_chunk(document, &one, 1));
        assert_ne!(of_chunk(document, &one, 0), of_chunk(document, &other, 0));
        assert_ne!(of_text(document, &one), of_text(document, &other));
        assert_ne!(of_chunk(document, &one, 0), of_text(document, &one));
    }
}
