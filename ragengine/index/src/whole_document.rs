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
    has_begun: bool,
}

impl<'a> Places<'a> {
    /// The places in a text.
    pub fn of(text: &'a str) -> Self {
        Self { text, bytes: 0, characters: 0, has_begun: false }
    }

    /// The place of the next chunk in characters. `None` if its text was changed when it was cut.
    pub fn next(&mut self, chunk: &str) -> Option<(usize, usize)> {
        let behind = &self.text[self.bytes..];
        // Each chunk begins behind the one before, also if both are the same. Only white space that was cut off can
        // make two begin at one place.
        let next = if self.has_begun { behind.chars().next().map_or(0, char::len_utf8) } else { 0 };
        let later = behind[next..].find(chunk).map(|start| next + start);
        let start = later.or_else(|| behind.starts_with(chunk).then_some(0))?;
        self.has_begun = true;
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
    fn equal_chunks_have_different_places() {
        for (text, chunks, expected) in [
            ("ok. ok. ok.", vec!["ok.", "ok.", "ok."], vec![Some((0, 3)), Some((4, 7)), Some((8, 11))]),
            ("😀😀ö", vec!["😀", "😀", "ö"], vec![Some((0, 1)), Some((1, 2)), Some((2, 3))]),
            ("ok. ok. ok", vec!["ok. ok.", "ok. ok"], vec![Some((0, 7)), Some((4, 10))]),
            // There is no other.
            ("one two", vec!["one two", "one", "two"], vec![Some((0, 7)), Some((0, 3)), Some((4, 7))]),
            ("one", vec!["two", "one", "one"], vec![None, Some((0, 3)), Some((0, 3))]),
        ] {
            let mut places = Places::of(text);
            let found: Vec<_> = chunks.into_iter().map(|chunk| places.next(chunk)).collect();
            assert_eq!(found, expected, "{text}");
        }
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
