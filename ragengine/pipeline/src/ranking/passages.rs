//! Joins neighbouring chunks of a document into passages. Otherwise their overlap would be in the prompt twice, and a
//! text that was cut would have two numbers.

mod overlap;

use std::ops::Range;

use overlap::overlap_bytes;

/// A selected chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected<'a, D> {
    /// The document.
    pub document: D,
    /// The chunk's position in the document, from 0.
    pub ordinal: u32,
    /// The page that it is on, if the document has pages.
    pub page: Option<u64>,
    /// Where its text is in the document, in bytes, if that is known. Otherwise the overlap is found in the texts.
    pub bytes: Option<Range<usize>>,
    /// Its text.
    pub text: &'a str,
}

/// Chunks that follow each other in a document, as one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The positions of the chunks in the list that was given, in the order of the document.
    pub members: Vec<usize>,
    /// Their text, each part once.
    pub text: String,
}

impl Joined {
    /// The position of the best chunk.
    pub fn best(&self) -> usize {
        self.members.iter().copied().min().unwrap_or_default()
    }
}

/// The selected chunks as passages: chunks of a page whose ordinals follow each other are one. Those of two pages are
/// not, because a passage is cited with one page. The chunks are in the order of their rank, and a passage has the rank
/// of its best chunk.
pub fn joined<D: Copy + Ord>(selected: &[Selected<'_, D>]) -> Vec<Joined> {
    let place = |position: &usize| (selected[*position].document, selected[*position].ordinal);
    let mut positions: Vec<usize> = (0..selected.len()).collect();
    positions.sort_by_key(place);
    let follows = |one: &usize, next: &usize| {
        let ((document, ordinal), (next_document, next_ordinal)) = (place(one), place(next));
        let is_same_page = selected[*one].page == selected[*next].page;
        document == next_document && is_same_page && next_ordinal - ordinal <= 1
    };
    let mut passages: Vec<Joined> = positions
        .chunk_by(follows)
        .map(|members| Joined { members: members.to_vec(), text: text_of(members.iter().map(|at| &selected[*at])) })
        .collect();
    passages.sort_by_key(Joined::best);
    passages
}

/// The text of chunks in the order of their document.
fn text_of<'a, D: 'a>(chunks: impl Iterator<Item = &'a Selected<'a, D>>) -> String {
    let mut text = String::new();
    let mut before: Option<&Selected<'_, D>> = None;
    for chunk in chunks {
        let end = before.and_then(known_bytes).map(|bytes| bytes.end);
        match (before, end.zip(known_bytes(chunk))) {
            (None, _) => text.push_str(chunk.text),
            (Some(_), Some((end, bytes))) if bytes.start > end => text.extend(["\n", chunk.text]),
            // It ends before the chunk before it.
            (Some(_), Some((end, bytes))) if bytes.end <= end => continue,
            (Some(_), Some((end, bytes))) => {
                text.push_str(&chunk.text[chunk.text.floor_char_boundary(end - bytes.start)..]);
            }
            (Some(_), None) => match overlap_bytes(&text, chunk.text) {
                0 => text.extend(["\n", chunk.text]),
                overlap => text.push_str(&chunk.text[overlap..]),
            },
        }
        before = Some(chunk);
    }
    text
}

/// Where a chunk is in its document, if the text has that length.
fn known_bytes<'a, D>(chunk: &'a Selected<'_, D>) -> Option<&'a Range<usize>> {
    chunk.bytes.as_ref().filter(|bytes| bytes.len() == chunk.text.len())
}

#[cfg(test)]
mod tests;
