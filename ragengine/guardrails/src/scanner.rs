//! The scanners of a policy, ready to work.

mod ban_substrings;
mod invisible;
mod json;
mod reading_time;
mod regex;
mod secrets;
mod sensitive;
mod token_limit;
mod whole;

pub(crate) use json::Json;
pub(crate) use reading_time::ReadingTime;
pub(crate) use token_limit::TokenLimit;
pub(crate) use whole::{Verdict, Whole};

use std::sync::Arc;

use crate::patterns::{Patterns, Stuck};
use crate::policy::fields::{Fields, Problem};
use crate::stage::{Action, PatternStage, Stage, TokenStage, WholeStage, WordStage};

/// What a scanner does.
#[derive(Clone)]
pub(crate) enum Work {
    Patterns(Arc<Patterns>),
    Whole(Arc<Whole>),
    Tokens(TokenLimit),
    Words(ReadingTime),
}

type Build = fn(&mut Fields) -> Result<Work, Problem>;

/// All types of scanners: the name in a policy, and what reads the fields.
const TYPES: [(&str, Build); 8] = [
    ("regex", regex::build),
    ("ban_substrings", ban_substrings::build),
    ("json", json::build),
    ("reading_time", reading_time::build),
    ("secrets", secrets::build),
    ("sensitive", sensitive::build),
    (invisible::TYPE, invisible::build),
    ("token_limit", token_limit::build),
];

/// The names of all types.
pub(crate) fn types() -> Vec<&'static str> {
    TYPES.iter().map(|(name, _)| *name).collect()
}

/// One scanner of a policy.
#[derive(Clone)]
pub(crate) struct Scanner {
    pub name: &'static str,
    pub action: Action,
    work: Work,
}

impl Scanner {
    /// Reads a scanner's fields. None for an unknown type.
    pub fn build(name: &str, action: Action, fields: &mut Fields) -> Option<Result<Self, Problem>> {
        let (name, build) = TYPES.iter().find(|(known, _)| *known == name)?;
        Some(build(fields).map(|work| Self { name, action, work }))
    }

    pub fn stage(&self) -> Result<Stage, Stuck> {
        Ok(match &self.work {
            Work::Patterns(patterns) => Stage::Patterns(Box::new(PatternStage::new(patterns.clone(), self.action)?)),
            Work::Whole(scanner) => Stage::Whole(WholeStage::new(scanner.clone(), self.action)),
            Work::Tokens(limit) => Stage::Tokens(TokenStage::new(limit.clone(), self.action)),
            Work::Words(limit) => Stage::Words(WordStage::new(limit.clone(), self.action)),
        })
    }

    /// Whether its redactions join what stood apart, and so can make text that an earlier scanner looks for.
    pub fn removes(&self) -> bool {
        self.name == invisible::TYPE && self.action == Action::Redact
    }

    /// Whether it looks at what the text says, not at its length.
    pub fn looks_at_content(&self) -> bool {
        matches!(self.work, Work::Patterns(_) | Work::Whole(_))
    }

    /// Whether it finds text that must not be there. The others look at the length or the form of a whole answer.
    pub fn finds_forbidden(&self) -> bool {
        match &self.work {
            Work::Patterns(_) => true,
            Work::Whole(whole) => whole.finds_forbidden(),
            Work::Tokens(_) | Work::Words(_) => false,
        }
    }
}
