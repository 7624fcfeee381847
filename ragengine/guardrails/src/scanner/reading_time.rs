use super::Work;
use crate::policy::fields::{Fields, Problem};

/// The reading speed that the policy format assumes.
const WORDS_PER_MINUTE: f64 = 200.0;
/// A week, in minutes.
const MAX_MINUTES: f64 = 10_080.0;

/// A limit of the reading time.
#[derive(Clone)]
pub(crate) struct ReadingTime {
    /// Words that may be read in the time.
    pub max_words: u64,
    /// Whether the rest is dropped without a mark.
    pub truncate: bool,
}

/// `reading_time`: `max_time` in minutes, `truncate`.
pub(super) fn build(fields: &mut Fields) -> Result<Work, Problem> {
    let minutes = fields.number("max_time")?.ok_or_else(|| {
        Problem::new("max_time", "is missing: write the minutes that reading an answer may take, for example 2.5")
    })?;
    if !(minutes > 0.0 && minutes <= MAX_MINUTES) {
        return Err(Problem::new("max_time", format!("must be more than 0 and at most {MAX_MINUTES} minutes")));
    }
    let truncate = fields.flag("truncate", false)?;
    // The number is between 0 and about two million.
    let max_words = (minutes * WORDS_PER_MINUTE) as u64;
    Ok(Work::Words(ReadingTime { max_words, truncate }))
}
