use std::fmt;

use crate::call::Call;
use crate::checked::Outcome;
use crate::patterns::Stuck;
use crate::policy::{Chain, Policy};
use crate::stage::Blocked;

/// Checks one answer while it arrives.
///
/// All texts returned together are what [`Policy::check`](crate::Policy::check) makes of the whole answer, however it
/// was split. Only a blocked answer differs: what was already shown stays, and the block message follows after a blank
/// line. Then [`outcome`](Self::outcome) is [`Outcome::Blocked`], every later text is empty, and the caller may stop the
/// language model.
pub struct GuardStream {
    policy: Policy,
    stages: Chain,
    /// Text between two stages. Kept to save allocations.
    front: String,
    back: String,
    outcome: Outcome,
    triggered: Vec<&'static str>,
    /// Whether any text was returned.
    shown: bool,
    finished: bool,
    /// Whether the scanners could not start: then the answer is blocked.
    failed: bool,
}

impl GuardStream {
    /// Passes an answer through these stages.
    pub(crate) fn new(policy: Policy, stages: Result<Chain, Stuck>) -> Self {
        let failed = stages.is_err();
        Self {
            policy,
            stages: stages.unwrap_or_default(),
            front: String::new(),
            back: String::new(),
            outcome: Outcome::Passed,
            triggered: Vec::new(),
            shown: false,
            finished: false,
            failed,
        }
    }

    /// Takes the next piece of the answer, and returns what may be shown now. After the end or a block it is empty.
    pub fn push(&mut self, text: &str) -> String {
        if self.is_over() {
            return String::new();
        }
        self.front.clear();
        self.front.push_str(text);
        let result = self.pass();
        self.returned(result)
    }

    /// Ends the answer, and returns the rest to show. A second call returns nothing.
    pub fn finish(&mut self) -> String {
        if self.is_over() {
            return String::new();
        }
        self.finished = true;
        self.front.clear();
        let result = self.pass_rest();
        self.returned(result)
    }

    /// Whether a tool call of the answer may be sent. If not, the answer is blocked from now on. Without a text: the
    /// block message is not returned.
    pub fn permits_call(&mut self, call: &Call<'_>) -> bool {
        if self.failed || self.outcome == Outcome::Blocked {
            return false;
        }
        let Some(found) = self.policy.objections(call) else { return true };
        self.outcome = Outcome::Blocked;
        self.stages.clear();
        let new: Vec<_> = found.into_iter().filter(|name| !self.triggered.contains(name)).collect();
        self.triggered.extend(new);
        self.sort_triggered();
        false
    }

    /// What has become of the answer so far.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The types of the scanners that have found something so far, each once.
    pub fn triggered(&self) -> &[&'static str] {
        &self.triggered
    }

    /// The bytes that are held back now.
    pub fn held_bytes(&self) -> usize {
        self.stages.iter().map(|(_, stage)| stage.held_bytes()).sum()
    }

    fn is_over(&self) -> bool {
        self.finished || self.outcome == Outcome::Blocked
    }

    /// Moves `front` through all stages.
    fn pass(&mut self) -> Result<(), Blocked> {
        if self.failed {
            return Err(Blocked);
        }
        for (_, stage) in &mut self.stages {
            if self.front.is_empty() {
                return Ok(());
            }
            self.back.clear();
            stage.push(&self.front, &mut self.back)?;
            std::mem::swap(&mut self.front, &mut self.back);
        }
        Ok(())
    }

    /// Moves what the stages hold through the later ones.
    fn pass_rest(&mut self) -> Result<(), Blocked> {
        if self.failed {
            return Err(Blocked);
        }
        for (_, stage) in &mut self.stages {
            self.back.clear();
            stage.push(&self.front, &mut self.back)?;
            stage.finish(&mut self.back)?;
            std::mem::swap(&mut self.front, &mut self.back);
        }
        Ok(())
    }

    fn returned(&mut self, result: Result<(), Blocked>) -> String {
        self.note_triggered();
        if result.is_err() {
            self.outcome = Outcome::Blocked;
            self.stages.clear();
            let separator = if self.shown { "\n\n" } else { "" };
            return format!("{separator}{}", self.policy.block_message());
        }
        self.shown |= !self.front.is_empty();
        self.front.clone()
    }

    fn note_triggered(&mut self) {
        for (name, stage) in &self.stages {
            if stage.triggered() && !self.triggered.contains(name) {
                self.triggered.push(name);
                self.outcome = Outcome::Redacted;
            }
        }
        self.sort_triggered();
    }

    fn sort_triggered(&mut self) {
        let order = |name: &&str| self.policy.0.scanners.iter().position(|scanner| scanner.name == *name);
        if self.triggered.len() > 1 {
            self.triggered.sort_by_key(order);
        }
    }
}

impl fmt::Debug for GuardStream {
    /// No text is shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GuardStream")
            .field("outcome", &self.outcome)
            .field("triggered", &self.triggered)
            .field("held_bytes", &self.held_bytes())
            .finish_non_exhaustive()
    }
}
