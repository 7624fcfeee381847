use parking_lot::Mutex;

/// What is wrong with something that is tried again and again, so that the log has each change once.
#[derive(Debug, Default)]
pub(crate) struct Problem(Mutex<Option<String>>);

/// What an attempt changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// There is a problem, or another one than before.
    Began,
    /// The problem has ended.
    Ended,
}

impl Problem {
    /// What is wrong now, in words for people.
    pub fn words(&self) -> Option<String> {
        self.0.lock().clone()
    }

    /// An attempt failed with these words, or succeeded.
    pub fn set(&self, words: Option<&str>) -> Change {
        let mut last = self.0.lock();
        if last.as_deref() == words {
            return Change::None;
        }
        *last = words.map(str::to_owned);
        if last.is_some() { Change::Began } else { Change::Ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_told() {
        let problem = Problem::default();
        let steps = [None, Some("a"), Some("a"), Some("b"), None, None].map(|words| problem.set(words));
        use Change::{Began, Ended};
        assert_eq!(steps, [Change::None, Began, Change::None, Began, Ended, Change::None]);
        problem.set(Some("c"));
        assert_eq!(problem.words().as_deref(), Some("c"));
    }
}
