use std::fmt;

use crate::Step;

/// How far the loading of indexes is.
#[derive(Debug, Clone, Copy)]
pub struct Loading<'a> {
    /// Indexes that are loaded.
    pub done: usize,
    /// Indexes that there are.
    pub of: usize,
    /// The one that is being loaded.
    pub index: &'a str,
    /// What it does.
    pub step: Step,
}

impl fmt::Display for Loading<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {} loaded; '{}': {}", self.done, self.of, self.index, self.step)
    }
}
