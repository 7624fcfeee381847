//! Cutting a question into windows that the embedding model reads whole: nothing of it is left out.

use ragengine_compute::Waiter;
use ragengine_embedding::MAX_BYTES_PER_QUERY_TOKEN;
use ragengine_errors::{Class, Fault, Logged};
use ragengine_index::chunking::{self, Sizes, SplitType, Work};
use ragengine_pipeline::extract::{is_fence, phrases, sentences};

/// How much of a window is repeated in the next, as of chunks: a tenth.
const OVERLAP_PART: usize = 10;

/// So many tokens a byte that is not ASCII may come to, when its character is replaced by what it stands for.
const MAX_TOKENS_PER_ODD_BYTE: usize = 11;

/// Bytes at an end of a long question in which its first and its last sentence are looked for.
const END_BYTES: usize = 4 << 10;

/// A question that is longer than what is searched with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the question is too long to be searched with: it has {length}, and at most about {max_tokens} tokens are (retrieval.maxQuestionWindows \
     times what the embedding model reads at once): shorten it, or add the text as a document and ask about that"
)]
pub struct TooLong {
    /// How long it is.
    length: String,
    /// How long it may be.
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

/// Whether a text certainly has no more tokens than these, without counting them: a token is a byte at least, one marks the beginning, and
/// what is not ASCII may come to more.
pub fn surely_fits(text: &str, max_tokens: usize) -> bool {
    if text.len() >= max_tokens {
        return false;
    }
    let odd = text.bytes().filter(|byte| !byte.is_ascii()).count();
    text.len() + odd * (MAX_TOKENS_PER_ODD_BYTE - 1) < max_tokens
}

/// Cuts a question into texts that the model reads whole: itself when that is all, else windows that overlap, and after them the lines and
/// sentences at its ends. What people ask stands at one of the ends of what they paste, and in a window with much else it is near to nothing.
///
/// # Errors
///
/// [`TooLong`] when there are more than `max_windows`. Those of the ends, four at most, do not count.
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
    // Counting megabytes takes seconds.
    if text.len() > room.saturating_mul(MAX_BYTES_PER_QUERY_TOKEN) {
        return Err(too_long(format!("{} bytes", text.len())));
    }
    // A window of few tokens may have many bytes, of which the model would not look at all.
    let size = |text: &str| count_tokens(text).max(text.len().div_ceil(MAX_BYTES_PER_QUERY_TOKEN));
    let tokens = size(text);
    if tokens <= max_tokens {
        return Ok(vec![text.to_owned()]);
    }
    let told = || format!("{tokens} tokens");
    if tokens > room {
        return Err(too_long(told()));
    }
    let sizes = Sizes { max_tokens, overlap_tokens, max_passage_tokens: max_tokens };
    let work = Work::begin(caller.clone(), None);
    let chunks = chunking::cut(text, SplitType::Prose, sizes, &size, &work).map_err(|_| too_long(told()))?;
    if chunks.len() > max_windows {
        return Err(too_long(told()));
    }
    let mut windows: Vec<String> = chunks.into_iter().map(|chunk| chunk.text).collect();
    // A line may be megabytes: those are not counted again.
    let fits = |text: &str| text.len() <= max_tokens * MAX_BYTES_PER_QUERY_TOKEN && count_tokens(text) <= max_tokens;
    for end in ends(text, &fits) {
        if !windows.contains(&end) {
            windows.push(end);
        }
    }
    Ok(windows)
}

/// The first line, the first and the last sentence, and the last line: those that fit into a window. Where prose has no sentence, there is a
/// line: a heading, two words, a question right below a log. In place of a line that does not fit there is its outermost phrase.
fn ends(text: &str, fits: &impl Fn(&str) -> bool) -> Vec<String> {
    let (head, tail) = (&text[..text.floor_char_boundary(END_BYTES)], tail(text));
    let says_something = |line: &&str| line.contains(char::is_alphanumeric);
    let lines = || text.split(is_line_break).map(str::trim).filter(says_something);
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

/// The end of a text. Where it begins within a block of code, it begins with a fence of its own: by the block's last fence alone, what stands
/// behind the block would be the code.
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
