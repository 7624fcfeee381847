use std::sync::Arc;

use parking_lot::Mutex;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::NFA;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};

use super::{Patterns, Step, Stuck, Table};
use crate::limits::STATES_BYTES;

/// Caches of states that are kept for later streams.
const MAX_POOLED: usize = 16;

/// An automaton whose states are computed when they are first needed, and kept for later streams.
pub(super) struct Lazy {
    dfa: DFA,
    pool: Mutex<Vec<Cache>>,
}

impl Lazy {
    pub fn new(nfa: &NFA) -> Result<Self, String> {
        let config = DFA::config().match_kind(MatchKind::All).minimum_cache_clear_count(None);
        let minimum = config.get_minimum_cache_capacity(nfa).map_err(|error| error.to_string())?;
        // After the states are dropped there must be room for the current one, the next, and the initial one.
        let config = config.cache_capacity(STATES_BYTES.max(4 * minimum));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa.clone()).map_err(|error| error.to_string())?;
        Ok(Self { dfa, pool: Mutex::default() })
    }
}

fn lazy(patterns: &Patterns) -> Result<&Lazy, Stuck> {
    match &patterns.live().table {
        Table::Lazy(lazy) => Ok(lazy),
        Table::Full { .. } => Err(Stuck),
    }
}

/// The position of one stream.
pub(crate) struct LazyWalk {
    patterns: Arc<Patterns>,
    cache: Cache,
    state: LazyStateID,
    idle: LazyStateID,
    /// How often the states had been dropped when `idle` was computed.
    clears: usize,
}

impl LazyWalk {
    pub fn new(patterns: Arc<Patterns>) -> Result<Self, Stuck> {
        let Lazy { dfa, pool } = lazy(&patterns)?;
        let pooled = pool.lock().pop();
        let mut cache = pooled.unwrap_or_else(|| dfa.create_cache());
        let idle = initial(dfa, &mut cache)?;
        let clears = cache.clear_count();
        Ok(Self { patterns, cache, state: idle, idle, clears })
    }

    pub fn reset(&mut self) {
        self.state = self.idle;
    }

    #[inline]
    pub fn step(&mut self, byte: u8) -> Result<Step, Stuck> {
        let dfa = &lazy(&self.patterns)?.dfa;
        self.state = dfa.next_state(&mut self.cache, self.state, byte).map_err(|_| Stuck)?;
        if self.cache.clear_count() != self.clears {
            self.idle = initial(dfa, &mut self.cache)?;
            self.clears = self.cache.clear_count();
        }
        Ok(Step { is_idle: self.state == self.idle, is_match: self.state.is_match() })
    }
}

fn initial(dfa: &DFA, cache: &mut Cache) -> Result<LazyStateID, Stuck> {
    dfa.start_state(cache, &start::Config::new().anchored(Anchored::No)).map_err(|_| Stuck)
}

impl Drop for LazyWalk {
    fn drop(&mut self) {
        if let Ok(Lazy { dfa, pool }) = lazy(&self.patterns) {
            let mut pool = pool.lock();
            if pool.len() < MAX_POOLED {
                // An empty cache is cheap, because its states are computed when they are needed.
                pool.push(std::mem::replace(&mut self.cache, Cache::new(dfa)));
            }
        }
    }
}
