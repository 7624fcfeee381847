//! Finds patterns, and holds back only text in which a match may be in progress.

use std::sync::Arc;

use super::{Action, Blocked};
use crate::limits::{MAX_HELD_BYTES, PIECE_BYTES};
use crate::patterns::{First, Patterns, Stuck, Walk, frontier, is_settled};
use crate::redaction::REDACTED;

/// The bytes in progress after which the exact frontier is first computed.
const FIRST_WINDOW_BYTES: usize = 64;
/// The bytes after which it is looked again whether a match is settled, and the part of the bytes in progress.
const SETTLE_BYTES: usize = 32;
const SETTLE_PART: usize = 8;

/// A scanner with patterns at work on one text.
pub(crate) struct PatternStage {
    patterns: Arc<Patterns>,
    action: Action,
    walk: Walk,
    /// The last decided character, which assertions may look at, and then the text that is not decided.
    buffer: String,
    /// Where the text that is not decided begins in `buffer`.
    open: usize,
    /// No match in progress begins before this offset in `buffer`.
    base: usize,
    /// When so many bytes follow `base`, the exact frontier is computed. It doubles, so that all computations together
    /// take time proportional to the text.
    window_bytes: usize,
    /// The last offset in `buffer` at which the automaton reported a match.
    matched_at: usize,
    /// Whether a match in progress got too long. Then the text is dropped until no match is in progress.
    dropping: bool,
    /// The match that is dropped, if the automaton knows it exactly.
    dropped: Option<Box<First>>,
    /// Whether a match has ended, but might be longer for the automaton, which does not know of preferences.
    ended: bool,
    /// The offset in `buffer` at which it was last looked whether a match is settled.
    looked_at: usize,
    triggered: bool,
}

impl PatternStage {
    pub fn new(patterns: Arc<Patterns>, action: Action) -> Result<Self, Stuck> {
        Ok(Self {
            walk: Walk::new(patterns.clone())?,
            patterns,
            action,
            buffer: String::new(),
            open: 0,
            base: 0,
            window_bytes: FIRST_WINDOW_BYTES,
            matched_at: 0,
            dropping: false,
            dropped: None,
            ended: false,
            looked_at: 0,
            triggered: false,
        })
    }

    pub fn triggered(&self) -> bool {
        self.triggered
    }

    pub fn held_bytes(&self) -> usize {
        self.buffer.len() - self.open
    }

    pub fn push(&mut self, mut piece: &str, out: &mut String) -> Result<(), Blocked> {
        // A search may look at everything that is not decided, so pieces are bounded.
        while piece.len() > PIECE_BYTES {
            let (head, tail) = piece.split_at(piece.floor_char_boundary(PIECE_BYTES));
            self.push_bounded(head, out)?;
            piece = tail;
        }
        self.push_bounded(piece, out)
    }

    fn push_bounded(&mut self, piece: &str, out: &mut String) -> Result<(), Blocked> {
        let mut at = self.buffer.len();
        self.buffer.push_str(piece);
        let mut decided = None;
        while at < self.buffer.len() {
            let Ok(step) = self.walk.step(self.buffer.as_bytes()[at]) else {
                return self.fail_closed(self.buffer.len(), out);
            };
            at += 1;
            if step.is_match {
                self.matched_at = at;
                self.ended = self.patterns.is_plain();
            }
            if self.drop_ends(at) {
                decided = Some(at);
            } else if step.is_idle {
                if self.buffer.is_char_boundary(at) {
                    decided = Some(at);
                    self.base = at;
                    self.window_bytes = FIRST_WINDOW_BYTES;
                    self.ended = false;
                    self.looked_at = at;
                    if std::mem::take(&mut self.dropping) {
                        self.dropped = None;
                        self.open = at;
                    }
                }
            } else if self.is_time_to_narrow(at) && !self.dropping && self.buffer.is_char_boundary(at) {
                at = self.narrow(at, out)?;
                decided = None;
            }
        }
        if self.dropping {
            self.open = self.buffer.len();
            self.forget();
        } else if let Some(decided) = decided {
            self.resolve(decided, self.buffer.len(), out)?;
            self.forget();
        }
        Ok(())
    }

    fn is_time_to_narrow(&self, at: usize) -> bool {
        let part = SETTLE_BYTES.max((at - self.base) / SETTLE_PART);
        at - self.base >= self.window_bytes || self.ended && at - self.looked_at >= part
    }

    /// Whether the match that is dropped ends before `at`.
    fn drop_ends(&mut self, at: usize) -> bool {
        let Some(first) = &mut self.dropped else { return false };
        let settled = first.step(self.patterns.live().nfa(), self.buffer.as_bytes()[at - 1]);
        if !settled || !self.buffer.is_char_boundary(at) {
            return false;
        }
        self.walk.reset();
        self.dropped = None;
        self.dropping = false;
        self.ended = false;
        [self.open, self.base, self.looked_at] = [at; 3];
        self.window_bytes = FIRST_WINDOW_BYTES;
        true
    }

    /// Replaces the matches before `at` that nothing can change, and lets the automaton forget them.
    fn settle(&mut self, at: usize, out: &mut String) -> Result<(), Blocked> {
        self.ended = false;
        self.looked_at = at;
        let before = self.open;
        while self.patterns.is_plain() && is_settled(self.patterns.live().nfa(), &self.buffer[self.open..at]) {
            let Some(found) = self.patterns.find(&self.buffer[..at], self.open) else { break };
            self.matched_at = at;
            self.resolve(found.range.start + 1, at, out)?;
        }
        if self.open == before {
            return Ok(());
        }
        self.walk.reset();
        self.base = self.open;
        for offset in self.open..at {
            let step = self.walk.step(self.buffer.as_bytes()[offset]);
            if step.is_ok_and(|step| step.is_idle) && self.buffer.is_char_boundary(offset + 1) {
                self.base = offset + 1;
            }
        }
        Ok(())
    }

    /// Decides as much as can be of the text before `at`, and returns the new offset of `at`.
    fn narrow(&mut self, at: usize, out: &mut String) -> Result<usize, Blocked> {
        self.settle(at, out)?;
        let first = self.base + frontier(self.patterns.live().nfa(), &self.buffer[self.base..at]);
        // The report of a match comes one byte late, so one may be missing here.
        self.matched_at = at;
        self.resolve(first, at, out)?;
        // A match may have ended after the frontier. Matches do not overlap.
        self.base = first.max(self.open);
        self.window_bytes = FIRST_WINDOW_BYTES.max(2 * (at - first));
        if at - first > MAX_HELD_BYTES {
            if self.patterns.is_plain() {
                let mut dropped = First::new(self.patterns.live().nfa());
                for byte in self.buffer[self.open..at].bytes() {
                    dropped.step(self.patterns.live().nfa(), byte);
                }
                self.dropped = Some(Box::new(dropped));
            }
            self.fail_closed(at, out)?;
        }
        let before = self.buffer.len();
        self.forget();
        Ok(at - (before - self.buffer.len()))
    }

    /// Drops the text before `end`, and from there on until no match is in progress.
    fn fail_closed(&mut self, end: usize, out: &mut String) -> Result<(), Blocked> {
        self.triggered = true;
        if self.action == Action::Block {
            return Err(Blocked);
        }
        if !self.dropping {
            out.push_str(REDACTED);
        }
        self.dropping = true;
        self.open = end;
        self.base = end;
        Ok(())
    }

    /// Decides the text before `limit`: no match in progress begins before it. The text is known up to `end`.
    fn resolve(&mut self, limit: usize, end: usize, out: &mut String) -> Result<(), Blocked> {
        let mut done = self.open;
        if self.matched_at > done {
            while let Some(found) = self.patterns.find(&self.buffer[..end], done) {
                if found.range.start >= limit {
                    break;
                }
                out.push_str(&self.buffer[done..found.range.start]);
                done = found.range.end;
                let text = &self.buffer[found.range];
                let Some(replacement) = found.replacement else {
                    out.push_str(text);
                    continue;
                };
                self.triggered = true;
                if self.action == Action::Block {
                    return Err(Blocked);
                }
                replacement.write(text, out);
            }
        }
        if done < limit {
            out.push_str(&self.buffer[done..limit]);
            done = limit;
        }
        self.open = done;
        Ok(())
    }

    /// Removes the decided text except its last character.
    fn forget(&mut self) {
        let context = self.buffer[..self.open].char_indices().next_back().map_or(0, |(offset, _)| offset);
        if context > 0 {
            self.buffer.drain(..context);
            self.open -= context;
            self.base = self.base.saturating_sub(context);
            self.matched_at = self.matched_at.saturating_sub(context);
            self.looked_at = self.looked_at.saturating_sub(context);
        }
    }

    pub fn finish(&mut self, out: &mut String) -> Result<(), Blocked> {
        if self.dropping || self.held_bytes() == 0 {
            return Ok(());
        }
        let end = self.buffer.len();
        self.matched_at = end;
        self.resolve(end, end, out)?;
        self.forget();
        Ok(())
    }
}
