//! The sentences that cite a source.

use super::marker::{Marker, Markers};
use super::scan::{Scanner, Token};
use super::tidy::Tidy;
use crate::sentences::sentence_ends;

/// The sentences with each number, in reading order and without markers: the first list is that of `[1]`. The text is
/// an answer with its new numbers, `count` many. A marker after the end of a sentence belongs to that sentence.
pub fn cited_sentences(text: &str, count: usize) -> Vec<Vec<String>> {
    let (text, places) = bare(text, count);
    let ends = sentence_ends(&text);
    let mut cited = vec![Vec::new(); count];
    let mut latest = vec![None; count];
    for (number, at) in places {
        let (Some(index), Some(sentence)) = (number.checked_sub(1), sentence_at(&text, &ends, at)) else { continue };
        let Some(latest) = latest.get_mut(index) else { continue };
        if latest.replace(sentence) != Some(sentence) {
            let start = sentence.checked_sub(1).map_or(0, |before| ends[before]);
            let end = ends.get(sentence).copied().unwrap_or(text.len());
            cited[index].push(plain(&text[start..end]));
        }
    }
    cited
}

/// The text without markers, and each number with the offset of its marker.
fn bare(text: &str, count: usize) -> (String, Vec<(usize, usize)>) {
    let (mut scanner, mut tidy, mut places) = (Scanner::<Markers>::default(), Tidy::default(), Vec::new());
    let mut add = |token: Token<'_, Marker>| match token {
        Token::Text(text) => tidy.text(text),
        Token::Item(marker) => match marker.numbers(count) {
            None => tidy.text(marker.written()),
            Some(numbers) => {
                let at = tidy.written().len();
                places.extend(numbers.iter().map(|number| (*number, at)));
                tidy.vanish();
                tidy.text(marker.address());
            }
        },
    };
    scanner.push(text, &mut add);
    scanner.finish(&mut add);
    tidy.finish();
    (tidy.take(), places)
}

/// The position of the sentence of a marker: before it, but after it at the beginning of a line. Lines without text
/// are no sentences.
fn sentence_at(text: &str, ends: &[usize], at: usize) -> Option<usize> {
    let position = |at: usize| ends.partition_point(|end| *end <= at);
    let is_line_start = text[..at].is_empty() || text[..at].ends_with('\n');
    let after = text[at..].split('\n').next().is_some_and(|line| !line.trim().is_empty());
    if is_line_start && after {
        return Some(position(at));
    }
    let before = text[..at].trim_end().len();
    before.checked_sub(1).map(position)
}

/// A sentence without the marks of lists, headings and quotations.
fn plain(sentence: &str) -> String {
    sentence.trim().trim_start_matches(['-', '*', '+', '>', '#', ' ', '\t']).to_owned()
}
