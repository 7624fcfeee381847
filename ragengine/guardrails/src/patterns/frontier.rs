use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

/// The earliest offset in `text` at which a match that is still in progress at its end can begin. Without such a match
/// it is the length of the text. The patterns must not have look-around.
///
/// It takes at most time proportional to the text's length times the automaton's size.
pub(crate) fn frontier(nfa: &NFA, text: &str) -> usize {
    let mut now = Threads::new(nfa);
    let mut next = Threads::new(nfa);
    for (offset, byte) in text.bytes().enumerate() {
        // Threads are ordered by their starts. So the first to reach a state is the earliest there.
        if text.is_char_boundary(offset) {
            now.add(nfa, nfa.start_anchored(), offset);
        }
        next.clear();
        for index in 0..now.list.len() {
            let (id, start) = now.list[index];
            if let Some(target) = target(nfa, id, byte) {
                next.add(nfa, target, start);
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    let waits = |id: StateID| !matches!(nfa.state(id), State::Match { .. });
    now.list.iter().filter(|(id, _)| waits(*id)).map(|(_, start)| *start).min().unwrap_or(text.len())
}

/// Follows the first match of a text, leftmost first, until nothing that follows can change it. The patterns must not
/// have look-around.
pub(crate) struct First {
    now: Threads,
    next: Threads,
    matched: bool,
}

impl First {
    pub fn new(nfa: &NFA) -> Self {
        Self { now: Threads::new(nfa), next: Threads::new(nfa), matched: false }
    }

    /// Reads one byte, which may begin a character. Returns whether the match was settled before it.
    pub fn step(&mut self, nfa: &NFA, byte: u8) -> bool {
        let begins_character = byte & 0xC0 != 0x80;
        if !self.matched && begins_character {
            self.now.add(nfa, nfa.start_anchored(), 0);
        }
        self.next.clear();
        // Threads are ordered by priority: what comes after a match is worse.
        for (id, start) in &self.now.list {
            if let State::Match { .. } = nfa.state(*id) {
                self.matched = true;
                break;
            }
            if let Some(target) = target(nfa, *id, byte) {
                self.next.add(nfa, target, *start);
            }
        }
        let settled = self.matched && self.next.list.is_empty();
        std::mem::swap(&mut self.now, &mut self.next);
        settled
    }
}

/// Whether the first match in `text` is there whatever follows.
pub(crate) fn is_settled(nfa: &NFA, text: &str) -> bool {
    let mut first = First::new(nfa);
    text.bytes().any(|byte| first.step(nfa, byte))
}

fn target(nfa: &NFA, id: StateID, byte: u8) -> Option<StateID> {
    match nfa.state(id) {
        State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
        State::Sparse(transitions) => transitions.matches_byte(byte),
        State::Dense(transitions) => transitions.matches_byte(byte),
        _ => None,
    }
}

/// States that wait for a byte or have a match, with the start of the earliest match that is there.
struct Threads {
    list: Vec<(StateID, usize)>,
    seen: Vec<bool>,
    visited: Vec<StateID>,
    stack: Vec<StateID>,
}

impl Threads {
    fn new(nfa: &NFA) -> Self {
        Self { list: Vec::new(), seen: vec![false; nfa.states().len()], visited: Vec::new(), stack: Vec::new() }
    }

    fn clear(&mut self) {
        self.list.clear();
        for id in self.visited.drain(..) {
            self.seen[id.as_usize()] = false;
        }
    }

    fn add(&mut self, nfa: &NFA, id: StateID, start: usize) {
        self.stack.push(id);
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id.as_usize()], true) {
                continue;
            }
            self.visited.push(id);
            match nfa.state(id) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                    self.list.push((id, start));
                }
                // The first alternative is the best, so it is taken from the stack first.
                State::Union { alternates } => self.stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt2, *alt1]),
                State::Look { next, .. } | State::Capture { next, .. } => self.stack.push(*next),
                State::Fail => {}
            }
        }
    }
}
