/// How far something that has to be loaded has come, with the words for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is on its way.
    Loading(String),
    /// It could not be loaded. It is tried again, which changes nothing until something comes of it.
    Failed(String),
    /// It is there.
    Done(String),
}

impl Default for Stage {
    fn default() -> Self {
        Self::Loading("not begun".to_owned())
    }
}

impl Stage {
    /// It is being tried.
    pub(super) fn tries(&mut self, doing: impl Into<String>) {
        if !matches!(self, Self::Failed(_)) {
            *self = Self::Loading(doing.into());
        }
    }

    /// More of it is there than before: what failed before is past.
    pub(super) fn advances(&mut self, doing: impl Into<String>) {
        *self = Self::Loading(doing.into());
    }

    /// Whether it is there.
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// What it is doing, or what is wrong.
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
    fn a_failure_stays_until_something_comes_of_trying_again() {
        let mut stage = Stage::default();
        stage.tries("asking");
        assert_eq!(stage, Stage::Loading("asking".to_owned()));
        stage = Stage::Failed("nobody answers".to_owned());
        stage.tries("asking");
        assert_eq!((stage.words(), stage.is_done()), ("nobody answers", false));
        stage.advances("3 MB");
        assert_eq!(stage, Stage::Loading("3 MB".to_owned()));
    }
}
