//! Questions, and the file that has them: one JSON object in each line.

mod parse;
mod select;

use serde::Deserialize;

pub use parse::{MAX_QUESTIONS, QuestionError, parse};
pub use select::{SplitChoice, select, split_of};

/// What kind of question it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It has rare words of its documents: a name, an option, a message.
    KnownItem,
    /// It says the same in other words.
    Paraphrase,
    /// No document answers it.
    Unanswerable,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::KnownItem, Self::Paraphrase, Self::Unanswerable];

    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::KnownItem => "known-item",
            Self::Paraphrase => "paraphrase",
            Self::Unanswerable => "unanswerable",
        }
    }

    /// Whether a document answers it.
    pub fn is_answerable(self) -> bool {
        self != Self::Unanswerable
    }
}

/// What a question may be used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Choosing settings, such as thresholds.
    Tune,
    /// Reporting. Nothing may be chosen by these questions.
    #[default]
    Report,
}

impl Split {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Tune, Self::Report];

    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Report => "report",
        }
    }
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// A name that no other question of the file has.
    pub id: String,
    /// The kind.
    pub kind: Kind,
    /// What it may be used for. Default: reporting.
    #[serde(default)]
    pub split: Split,
    /// A group that is also reported separately, for example the kind of its documents.
    #[serde(default)]
    pub group: Option<String>,
    /// The text to search for.
    pub query: String,
    /// The ids of all documents that answer it.
    #[serde(default)]
    pub relevant: Vec<String>,
}
