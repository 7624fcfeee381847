use std::fmt;

use crate::Step;

/// The progress of loading the indexes.
#[derive(Debug, Clone, Copy)]
pub struct Loading<'a> {
    /// Indexes that are loaded.
    pub done: usize,
    /// All indexes.
    pub of: usize,
    /// The name of the index that is being loaded.
    pub index: &'a str,
    /// Its current step.
    pub step: Step,
}

impl fmt::Display for Loading<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {} loaded; '{}': {}", self.done, self.of, self.index, self.step)
    }
}
