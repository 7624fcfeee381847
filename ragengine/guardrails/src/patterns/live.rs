//! The automaton that runs along with a text.

mod lazy;

use std::sync::Arc;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;

use self::lazy::{Lazy, LazyWalk};
use super::{Patterns, too_large};
use crate::limits::{MAX_COMPILED_BYTES, MAX_TABLE_BYTES};

/// An automaton that follows all matches, not only the leftmost one. So its state depends on nothing but the text, and
/// equals the initial one wherever nothing is in progress.
pub(crate) struct Live {
    nfa: NFA,
    table: Table,
}

enum Table {
    /// All states are known, and shared by all streams.
    Full { dfa: dense::DFA<Vec<u32>>, idle: StateID },
    /// The states are too many, so each stream computes those that it needs.
    Lazy(Lazy),
}

impl Live {
    pub(super) fn new(relaxed: &[Hir]) -> Result<Self, String> {
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(MAX_COMPILED_BYTES)),
            )
            .build_many_from_hir(relaxed)
            .map_err(|error| too_large(error.size_limit().is_some(), &error))?;
        let table = match full(&nfa) {
            Some(table) => table,
            None => Table::Lazy(Lazy::new(&nfa)?),
        };
        Ok(Self { nfa, table })
    }

    pub fn nfa(&self) -> &NFA {
        &self.nfa
    }
}

/// The table of all states. None if it is too large.
fn full(nfa: &NFA) -> Option<Table> {
    let config = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Unanchored)
        .accelerate(false)
        .dfa_size_limit(Some(MAX_TABLE_BYTES))
        .determinize_size_limit(Some(MAX_TABLE_BYTES));
    let dfa = dense::Builder::new().configure(config).build_from_nfa(nfa).ok()?;
    let idle = dfa.start_state(&start::Config::new().anchored(Anchored::No)).ok()?;
    Some(Table::Full { dfa, idle })
}

/// The automaton cannot go on. No text is known to cause it.
#[derive(Debug)]
pub(crate) struct Stuck;

/// The position of one stream in the automaton.
pub(crate) enum Walk {
    Full { patterns: Arc<Patterns>, state: StateID },
    Lazy(Box<LazyWalk>),
}

/// What is known at a position.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// No match is in progress after the byte.
    pub is_idle: bool,
    /// A match may end before the byte. It is true at least once between the end of a match and the next idle position.
    pub is_match: bool,
}

impl Walk {
    pub fn new(patterns: Arc<Patterns>) -> Result<Self, Stuck> {
        Ok(match &patterns.live().table {
            Table::Full { idle, .. } => Self::Full { state: *idle, patterns },
            Table::Lazy(_) => Self::Lazy(Box::new(LazyWalk::new(patterns)?)),
        })
    }

    /// Forgets what is in progress.
    pub fn reset(&mut self) {
        match self {
            Self::Full { patterns, state } => {
                if let Table::Full { idle, .. } = &patterns.live().table {
                    *state = *idle;
                }
            }
            Self::Lazy(walk) => walk.reset(),
        }
    }

    /// Reads one byte.
    #[inline]
    pub fn step(&mut self, byte: u8) -> Result<Step, Stuck> {
        match self {
            Self::Full { patterns, state } => {
                let Table::Full { dfa, idle } = &patterns.live().table else { return Err(Stuck) };
                *state = dfa.next_state(*state, byte);
                Ok(Step { is_idle: *state == *idle, is_match: dfa.is_match_state(*state) })
            }
            Self::Lazy(walk) => walk.step(byte),
        }
    }
}
