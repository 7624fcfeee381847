//! A scanner's patterns, compiled for texts that arrive piece by piece.
//!
//! Two automata work together. The exact one finds the matches: leftmost first, the earlier pattern first, without
//! overlaps. The [`relaxed`](relax) one runs along with the text and knows where a match may be in progress. It accepts
//! more than the patterns do, and never less, so text before the earliest match in progress is decided.

mod frontier;
mod live;
mod relax;

pub(crate) use frontier::{First, frontier, is_settled};
pub(crate) use live::{Stuck, Walk};

use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, PatternID, meta};
use regex_syntax::hir::Hir;

use self::live::Live;
use crate::limits::{MAX_COMPILED_BYTES, MAX_PATTERN_NESTING};
use crate::redaction::Replacement;

/// What a candidate turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// The prefix of this length in bytes is a match.
    Match(usize),
    /// No match begins at the same place.
    No,
    /// No match begins in the candidate.
    None,
}

/// A condition that no pattern can state.
pub(crate) type Accept = fn(&str) -> Candidate;

/// One pattern.
pub(crate) struct Rule {
    hir: Hir,
    replacement: Replacement,
    accept: Option<Accept>,
}

impl Rule {
    pub fn new(hir: Hir, replacement: Replacement) -> Self {
        Self { hir, replacement, accept: None }
    }

    /// Adds a condition.
    pub fn accept(mut self, accept: Accept) -> Self {
        self.accept = Some(accept);
        self
    }
}

/// Whether upper and lower case differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Sensitive,
    Insensitive,
}

/// Parses a pattern. The error is one line for the policy's author.
pub(crate) fn parse(pattern: &str, case: Case) -> Result<Hir, String> {
    regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_PATTERN_NESTING)
        .case_insensitive(case == Case::Insensitive)
        .build()
        .parse(pattern)
        .map_err(|error| match error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            other => other.to_string(),
        })
}

/// Compiles one exact pattern set. The error says that it is too large.
pub(crate) fn compile(patterns: &[&Hir]) -> Result<Regex, String> {
    Regex::builder()
        .configure(meta::Config::new().nfa_size_limit(Some(MAX_COMPILED_BYTES)))
        .build_many_from_hir(patterns)
        .map_err(|error| too_large(error.size_limit().is_some(), &error))
}

fn too_large(size: bool, error: &impl std::fmt::Display) -> String {
    if size {
        format!("the compiled patterns have more than {MAX_COMPILED_BYTES} bytes: use fewer or simpler repetitions")
    } else {
        error.to_string()
    }
}

/// A place in a text that is decided.
pub(crate) struct Found {
    pub range: Range<usize>,
    /// What replaces the match. None if the text stays.
    pub replacement: Option<Replacement>,
}

/// A scanner's patterns.
pub(crate) struct Patterns {
    exact: Regex,
    rules: Vec<(Replacement, Option<Accept>)>,
    live: Live,
    is_plain: bool,
}

impl Patterns {
    /// Compiles the rules. The error is one line for the policy's author.
    pub fn new(rules: Vec<Rule>) -> Result<Self, String> {
        let exact = compile(&rules.iter().map(|rule| &rule.hir).collect::<Vec<_>>())?;
        let live = Live::new(&rules.iter().map(|rule| relax::relaxed(&rule.hir)).collect::<Vec<_>>())?;
        let is_plain = rules.iter().all(|rule| rule.accept.is_none() && rule.hir.properties().look_set().is_empty());
        let rules = rules.into_iter().map(|rule| (rule.replacement, rule.accept)).collect();
        Ok(Self { exact, rules, live, is_plain })
    }

    /// Whether the relaxed automaton accepts exactly what the patterns do.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    pub fn live(&self) -> &Live {
        &self.live
    }

    /// The first match in `text` that begins at or after `from`, or a place before it that has no match. Characters
    /// before `from` count as context.
    pub fn find(&self, text: &str, mut from: usize) -> Option<Found> {
        loop {
            let found = self.exact.find(Input::new(text).range(from..))?;
            let start = found.start();
            match self.judge(found.pattern(), &text[found.range()]) {
                Candidate::Match(len) => return Some(self.found(found.pattern(), start..start + len)),
                Candidate::None => return Some(Found { range: found.range(), replacement: None }),
                Candidate::No => {}
            }
            if let Some(other) = self.other(text, start, found.pattern()) {
                return Some(other);
            }
            from = start + text[start..].chars().next().map_or(1, char::len_utf8);
        }
    }

    /// What a later pattern than `rejected` says about the text at `start`.
    fn other(&self, text: &str, start: usize, rejected: PatternID) -> Option<Found> {
        (rejected.as_usize() + 1..self.rules.len()).find_map(|index| {
            let pattern = PatternID::new(index).ok()?;
            let input = Input::new(text).range(start..).anchored(Anchored::Pattern(pattern));
            let found = self.exact.find(input)?;
            match self.judge(pattern, &text[found.range()]) {
                Candidate::Match(len) => Some(self.found(pattern, start..start + len)),
                Candidate::None => Some(Found { range: found.range(), replacement: None }),
                Candidate::No => None,
            }
        })
    }

    fn judge(&self, pattern: PatternID, candidate: &str) -> Candidate {
        self.rules[pattern.as_usize()].1.map_or(Candidate::Match(candidate.len()), |accept| accept(candidate))
    }

    fn found(&self, pattern: PatternID, range: Range<usize>) -> Found {
        Found { range, replacement: Some(self.rules[pattern.as_usize()].0) }
    }
}
