//! Scanners that need the whole answer.

use std::sync::Arc;

use super::{Action, Blocked};
use crate::limits::MAX_WHOLE_BYTES;
use crate::redaction::REDACTED;
use crate::scanner::{Verdict, Whole};

/// A scanner of whole answers at work on one text. It holds back everything.
pub(crate) struct WholeStage {
    scanner: Arc<Whole>,
    action: Action,
    text: String,
    /// Whether the answer got too long.
    too_long: bool,
    triggered: bool,
}

impl WholeStage {
    pub fn new(scanner: Arc<Whole>, action: Action) -> Self {
        Self { scanner, action, text: String::new(), too_long: false, triggered: false }
    }

    pub fn triggered(&self) -> bool {
        self.triggered
    }

    pub fn held_bytes(&self) -> usize {
        self.text.len()
    }

    pub fn push(&mut self, piece: &str, out: &mut String) -> Result<(), Blocked> {
        if self.too_long {
            return Ok(());
        }
        if self.text.len() + piece.len() > MAX_WHOLE_BYTES {
            self.too_long = true;
            self.text = String::new();
            return self.refuse(out);
        }
        self.text.push_str(piece);
        Ok(())
    }

    fn refuse(&mut self, out: &mut String) -> Result<(), Blocked> {
        self.triggered = true;
        match self.action {
            Action::Block => Err(Blocked),
            Action::Redact => {
                out.push_str(REDACTED);
                Ok(())
            }
        }
    }

    pub fn finish(&mut self, out: &mut String) -> Result<(), Blocked> {
        if self.too_long {
            return Ok(());
        }
        let text = std::mem::take(&mut self.text);
        match self.scanner.judge(&text) {
            Verdict::Pass => out.push_str(&text),
            Verdict::Mend(mended) => {
                self.triggered = true;
                out.push_str(&mended);
            }
            Verdict::Redact(redacted) if self.action == Action::Redact => {
                self.triggered = true;
                out.push_str(&redacted);
            }
            Verdict::Redact(_) | Verdict::Refuse => return self.refuse(out),
        }
        Ok(())
    }
}
