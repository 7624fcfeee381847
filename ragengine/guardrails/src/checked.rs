use std::fmt;

/// The outcome of checking an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// The text is unchanged.
    #[default]
    Passed,
    /// The text was changed: matches were replaced, the end was cut off, or broken JSON was repaired.
    Redacted,
    /// The answer must not be shown: the finish reason is `content_filter`.
    Blocked,
}

impl Outcome {
    /// A short name for a metric's label.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Redacted => "redacted",
            Self::Blocked => "blocked",
        }
    }
}

/// A checked answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Checked {
    /// The text to show. For a blocked answer it is the policy's block message.
    pub text: String,
    /// The outcome of the checks.
    pub outcome: Outcome,
    /// The types of the scanners that found something, each once, in the policy's order. Of a blocked answer, scanners
    /// may be missing that have not seen the whole text.
    pub triggered: Vec<&'static str>,
}

impl fmt::Debug for Checked {
    /// The text is not shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Checked")
            .field("outcome", &self.outcome)
            .field("triggered", &self.triggered)
            .finish_non_exhaustive()
    }
}
