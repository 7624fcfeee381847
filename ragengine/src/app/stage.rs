/// The state of loading something, with a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// In progress.
    Loading(String),
    /// Failed. Retries keep this state until they make progress, so that the error stays visible.
    Failed(String),
    /// Loaded.
    Done(String),
}

impl Default for Stage {
    fn default() -> Self {
        Self::Loading("not started".to_owned())
    }
}

impl Stage {
    /// An attempt has started. A previous failure stays.
    pub(super) fn tries(&mut self, doing: impl Into<String>) {
        if !matches!(self, Self::Failed(_)) {
            *self = Self::Loading(doing.into());
        }
    }

    /// The attempt made progress. This replaces a previous failure.
    pub(super) fn advances(&mut self, doing: impl Into<String>) {
        *self = Self::Loading(doing.into());
    }

    /// Whether loading has succeeded.
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// The message.
    pub(super) fn words(&self) -> &str {
        match self {
            Self::Loading(words) | Self::Failed(words) | Self::Done(words) => words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stage;

    #[test]
    fn a_failure_stays_until_a_retry_makes_progress() {
        let mut stage = Stage::default();
        stage.tries("asking");
        assert_eq!(stage, Stage::Loading("asking".to_owned()));
        stage = Stage::Failed("connection refused".to_owned());
        stage.tries("asking");
        assert_eq!((stage.words(), stage.is_done()), ("connection refused", false));
        stage.advances("3 MB");
        assert_eq!(stage, Stage::Loading("3 MB".to_owned()));
    }
}
