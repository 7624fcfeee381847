//! A whole document, with the places of its chunks.

use ragengine_client::wire::{ChunkPlace, WholeDocument};

use super::{Index, IndexError};

impl Index {
    /// Returns a document with its whole text. `None` if there is no such document.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn whole_document(&self, doc_id: &str) -> Result<Option<WholeDocument>, IndexError> {
        let reader = self.view.read().reader().clone();
        let Some(number) = reader.number(doc_id)? else { return Ok(None) };
        let Some(record) = reader.document(number)? else { return Ok(None) };
        let (text, _) = reader.text(number, usize::MAX)?;
        let pages = reader.pages(record.rows())?;
        let mut places = Places::of(&text);
        let mut chunks = Vec::with_capacity(pages.len());
        for (chunk, page) in reader.chunks(record.rows())?.into_iter().zip(pages) {
            let place = places.next(&chunk.text);
            chunks.push(ChunkPlace {
                node_id: self.node_id(doc_id, chunk.ordinal, &chunk.hash),
                ordinal: chunk.ordinal,
                start: place.map(|(start, _)| start),
                end: place.map(|(_, end)| end),
                heading: chunk.heading,
                page,
            });
        }
        let metadata = record.metadata();
        Ok(Some(WholeDocument { doc_id: record.doc_id, text, metadata, source: record.source, chunks }))
    }
}

/// Finds chunks in the text of their document, in order. They may overlap.
pub struct Places<'a> {
    text: &'a str,
    /// The beginning of the latest chunk, in bytes and in characters.
    bytes: usize,
    characters: usize,
}

impl<'a> Places<'a> {
    /// The places in a text.
    pub fn of(text: &'a str) -> Self {
        Self { text, bytes: 0, characters: 0 }
    }

    /// The place of the next chunk in characters. `None` if its text was changed when it was cut.
    pub fn next(&mut self, chunk: &str) -> Option<(usize, usize)> {
        let behind = &self.text[self.bytes..];
        let start = behind.find(chunk)?;
        self.characters += behind[..start].chars().count();
        self.bytes += start;
        Some((self.characters, self.characters + chunk.chars().count()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters() {
        let text = "Größe: ok. ok. 😀 Ende";
        let mut places = Places::of(text);
        let mut place =
            |chunk| places.next(chunk).map(|(start, end)| text.chars().skip(start).take(end - start).collect());
        for chunk in ["Größe: ok.", "ok. ok.", "ok. 😀", "😀 Ende"] {
            assert_eq!(place(chunk), Some(chunk.to_owned()));
        }
        assert_eq!(place("Größe"), None, "it was before");
        assert_eq!(place("Ende"), Some("Ende".to_owned()));
    }

    #[test]
    fn an_overlapping_chunk_is_found_before_the_end_of_the_previous_one() {
        let mut places = Places::of("a b a b c");
        assert_eq!(
            (places.next("a b"), places.next("b a b"), places.next("a b c")),
            (Some((0, 3)), Some((2, 7)), Some((4, 9)))
        );
    }
}
