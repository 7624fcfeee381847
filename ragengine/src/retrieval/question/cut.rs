//! Splits a question into windows that fit into the embedding model, so that no part of it is ignored.

use ragengine_compute::Waiter;
use ragengine_embedding::MAX_BYTES_PER_QUERY_TOKEN;
use ragengine_errors::{Class, Fault, Logged};
use ragengine_index::chunking::{self, Sizes, SplitType, Work};
use ragengine_pipeline::extract::{is_fence, phrases, sentences};

/// Overlap between windows, as a fraction of a window: a tenth, as for chunks.
const OVERLAP_PART: usize = 10;

/// Most tokens per non-ASCII byte, because the tokenizer may replace a character by several others.
const MAX_TOKENS_PER_ODD_BYTE: usize = 11;

/// Bytes at each end of a long question that are searched for its first and last sentence.
const END_BYTES: usize = 4 << 10;

/// The question is too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the question is too long: it has {length}, but may have at most about {max_tokens} tokens \
     (retrieval.maxQuestionWindows times the limit of the embedding model): shorten it, or add the text as a document \
     and ask about it"
)]
pub struct TooLong {
    /// The length, in tokens or bytes.
    length: String,
    /// The limit, in tokens.
    max_tokens: usize,
}

impl Fault for TooLong {
    fn class(&self) -> Class {
        Class::Invalid
    }

    fn kind(&self) -> &'static str {
        "meaning"
    }
}

impl Logged for TooLong {
    fn own_words(&self) -> Option<String> {
        None
    }
}

/// Whether a text certainly has at most `max_tokens`, without counting. Each ASCII byte is at most one token, other
/// bytes are at most `MAX_TOKENS_PER_ODD_BYTE`, and one token marks the start.
pub fn surely_fits(text: &str, max_tokens: usize) -> bool {
    if text.len() >= max_tokens {
        return false;
    }
    let odd = text.bytes().filter(|byte| !byte.is_ascii()).count();
    text.len() + odd * (MAX_TOKENS_PER_ODD_BYTE - 1) < max_tokens
}

/// Splits a question into texts that fit into the model: the question itself if it fits, otherwise overlapping
/// windows, followed by the lines and sentences at both ends. People put their question before or after the text that
/// they paste, and a vector of a window with much other text is far from the answer.
///
/// # Errors
///
/// [`TooLong`] when there are more than `max_windows`. The texts of the ends, at most four, do not count.
pub fn cut(
    text: &str,
    max_tokens: usize,
    max_windows: usize,
    count_tokens: &impl Fn(&str) -> usize,
    caller: &Waiter,
) -> Result<Vec<String>, TooLong> {
    let overlap_tokens = max_tokens / OVERLAP_PART;
    let too_long = |length| TooLong { length, max_tokens: (max_tokens - overlap_tokens).saturating_mul(max_windows) };
    let room = max_tokens.saturating_mul(max_windows);
    // Counting the tokens of megabytes takes seconds.
    if text.len() > room.saturating_mul(MAX_BYTES_PER_QUERY_TOKEN) {
        return Err(too_long(format!("{} bytes", text.len())));
    }
    // The model also has a limit in bytes, which a window of few tokens may exceed.
    let size = |text: &str| count_tokens(text).max(text.len().div_ceil(MAX_BYTES_PER_QUERY_TOKEN));
    let tokens = size(text);
    if tokens <= max_tokens {
        return Ok(vec![text.to_owned()]);
    }
    let length = || format!("{tokens} tokens");
    if tokens > room {
        return Err(too_long(length()));
    }
    let sizes = Sizes { max_tokens, overlap_tokens, max_passage_tokens: max_tokens };
    let work = Work::begin(caller.clone(), None);
    let chunks = chunking::cut(text, SplitType::Prose, sizes, &size, &work).map_err(|_| too_long(length()))?;
    if chunks.len() > max_windows {
        return Err(too_long(length()));
    }
    let mut windows: Vec<String> = chunks.into_iter().map(|chunk| chunk.text).collect();
    // A line may have megabytes, which are too slow to count again.
    let fits = |text: &str| text.len() <= max_tokens * MAX_BYTES_PER_QUERY_TOKEN && count_tokens(text) <= max_tokens;
    for end in ends(text, &fits) {
        if !windows.contains(&end) {
            windows.push(end);
        }
    }
    Ok(windows)
}

/// Returns the first line, the first and the last sentence, and the last line, if they fit into a window. Lines are for
/// questions that are not sentences: a heading, two words, a question right below a log. A line that does not fit is
/// replaced by its first or last phrase.
fn ends(text: &str, fits: &impl Fn(&str) -> bool) -> Vec<String> {
    let (head, tail) = (&text[..text.floor_char_boundary(END_BYTES)], tail(text));
    let has_words = |line: &&str| line.contains(char::is_alphanumeric);
    let lines = || text.split(is_line_break).map(str::trim).filter(has_words);
    let whole = |line: Option<&str>| line.filter(|&line| fits(line)).map(str::to_owned);
    let first = [
        whole(lines().next()).or_else(|| phrases(head).into_iter().next()),
        sentences(0, head).into_iter().next().map(|sentence| sentence.text),
    ];
    let last = [
        sentences(0, &tail).pop().map(|sentence| sentence.text),
        whole(lines().next_back()).or_else(|| phrases(&tail).pop()),
    ];
    first.into_iter().chain(last).flatten().filter(|end| fits(end)).collect()
}

/// The end of a text. If it starts inside a code block, a fence is added at the start. Otherwise the closing fence
/// would be taken for an opening fence, and the text after the block for code.
fn tail(text: &str) -> String {
    let (before, tail) = text.split_at(text.ceil_char_boundary(text.len().saturating_sub(END_BYTES)));
    let fences = before.lines().filter(|line| is_fence(line.trim())).count();
    let fence = if fences % 2 == 1 { "```\n" } else { "" };
    format!("{fence}{tail}")
}

fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests;
