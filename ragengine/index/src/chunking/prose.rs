//! Finds places to cut text without structure. Each letter is looked at a bounded number of times.

use ragengine_pipeline::sentences::sentence_ends;
use unicode_segmentation::UnicodeSegmentation as _;

use super::boundary::{Boundary, SENTENCE};
use super::work::{Stopped, Work};

/// The longest run of line breaks that matters.
const MAX_LINE_BREAKS: u8 = 32;
/// The longest grapheme cluster that is kept together, in bytes.
const MAX_CLUSTER_BYTES: usize = 128;

/// The ends of runs of line breaks. Longer runs are better places.
pub(super) fn line_breaks(text: &str, work: &Work) -> Result<Vec<Boundary>, Stopped> {
    let mut boundaries = Vec::new();
    let mut in_row = 0_u8;
    let mut before = 0;
    for (offset, byte) in text.bytes().enumerate() {
        work.step(1)?;
        match byte {
            b'\n' if before == b'\r' => {}
            b'\n' | b'\r' => in_row = in_row.saturating_add(1).min(MAX_LINE_BREAKS),
            _ if in_row > 0 => {
                boundaries.extend(Boundary::at(offset, SENTENCE + in_row));
                in_row = 0;
            }
            _ => {}
        }
        before = byte;
    }
    Ok(boundaries)
}

/// Finds places to cut a text without boundaries up to `reach`: after sentences, else words, else letters. There is
/// always at least one.
///
/// Only places after `from` count. The text after `reach` shows whether a sentence or word ends there.
pub(super) fn seams(text: &str, from: usize, reach: usize) -> Vec<usize> {
    let is_there = |offset: &usize| *offset > from && *offset <= reach;
    let sentences = sentence_ends(text);
    if sentences.iter().any(is_there) {
        return sentences;
    }
    let words: Vec<usize> = text.split_word_bound_indices().map(|(offset, _)| offset).collect();
    if words.iter().any(is_there) {
        return words;
    }
    let begin = text.ceil_char_boundary(reach.saturating_sub(MAX_CLUSTER_BYTES)).max(from);
    let offsets = text[begin..].grapheme_indices(true).map(|(offset, _)| begin + offset);
    let letters = offsets.take_while(|offset| *offset <= reach).filter(is_there);
    vec![letters.last().unwrap_or(reach)]
}
