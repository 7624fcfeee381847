//! The policy: what is checked, and what happens about findings.

mod document;
pub(crate) mod fields;

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::checked::{Checked, Outcome};
use crate::error::PolicyError;
use crate::limits::MAX_POLICY_BYTES;
use crate::patterns::Stuck;
use crate::scanner::Scanner;
use crate::stage::{Action, Stage};
use crate::stream::GuardStream;

/// The block message of a policy that has none.
pub const DEFAULT_BLOCK_MESSAGE: &str = "The model output was blocked by output guardrails.";

/// A valid policy, ready for use. It is cheap to clone.
#[derive(Clone)]
pub struct Policy(pub(crate) Arc<Inner>);

/// The stages of scanners, each with the type.
pub(crate) type Chain = Vec<(&'static str, Stage)>;

pub(crate) struct Inner {
    id: String,
    pub block_message: String,
    pub scanners: Vec<Scanner>,
    /// Those that look once more at what the others have left.
    second_looks: Vec<Scanner>,
}

impl Policy {
    /// Reads a policy: `{action, blockMessage, scanners: [{type, action, …}]}` in YAML. `action` is `redact` (the
    /// default) or `block`; a scanner's own action wins.
    ///
    /// # Errors
    ///
    /// [`PolicyError`]: the text is not YAML, there is no scanner, or anything in it is unknown, invalid or too large.
    /// Nothing is skipped.
    pub fn parse(yaml: &str) -> Result<Self, PolicyError> {
        if yaml.len() > MAX_POLICY_BYTES {
            return Err(PolicyError::TooLarge { bytes: yaml.len(), limit: MAX_POLICY_BYTES });
        }
        let document = document::read(yaml)?;
        let second_looks = second_looks(&document.scanners);
        let id = hex::encode(Sha256::digest(yaml.as_bytes()));
        Ok(Self(Arc::new(Inner {
            id,
            block_message: document.block_message,
            scanners: document.scanners,
            second_looks,
        })))
    }

    /// The SHA-256 of the policy's text as hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The text in place of a blocked answer.
    pub fn block_message(&self) -> &str {
        &self.0.block_message
    }

    /// The types of the scanners, in their order.
    pub fn scanners(&self) -> Vec<&'static str> {
        self.0.scanners.iter().map(|scanner| scanner.name).collect()
    }

    /// Checks a whole answer.
    pub fn check(&self, answer: &str) -> Checked {
        let mut stream = self.stream();
        let mut text = stream.push(answer);
        text.push_str(&stream.finish());
        if stream.outcome() == Outcome::Blocked {
            text = self.0.block_message.clone();
        }
        Checked { text, outcome: stream.outcome(), triggered: stream.triggered().to_vec() }
    }

    /// Begins to check an answer that arrives piece by piece. Each choice of a reply needs its own.
    pub fn stream(&self) -> GuardStream {
        GuardStream::new(self.clone(), self.0.chain())
    }

    /// Begins to look only for text that must not be there.
    pub(crate) fn content_stream(&self) -> GuardStream {
        GuardStream::new(self.clone(), self.0.content_chain())
    }
}

impl Inner {
    /// The chain of all scanners for one answer, each with its type.
    fn chain(&self) -> Result<Chain, Stuck> {
        self.scanners.iter().chain(&self.second_looks).map(|scanner| Ok((scanner.name, scanner.stage()?))).collect()
    }

    /// The chain of the scanners that find text that must not be there. None of them looks twice, because any finding
    /// is enough.
    fn content_chain(&self) -> Result<Chain, Stuck> {
        let finding = self.scanners.iter().filter(|scanner| scanner.finds_forbidden());
        finding.map(|scanner| Ok((scanner.name, scanner.stage()?))).collect()
    }
}

/// A redaction can make text that an earlier scanner looks for. So a scanner that blocks looks again after a later one
/// redacts, and one that redacts after a later one removes characters.
fn second_looks(scanners: &[Scanner]) -> Vec<Scanner> {
    let later = |index: usize| &scanners[index + 1..];
    let content = || scanners.iter().enumerate().filter(|(_, scanner)| scanner.looks_at_content());
    let redacting: Vec<Scanner> = content()
        .filter(|(index, scanner)| scanner.action == Action::Redact && later(*index).iter().any(Scanner::removes))
        .map(|(_, scanner)| scanner.clone())
        .collect();
    let blocking = content().filter(|(index, scanner)| {
        let redacted_later = later(*index).iter().any(|other| other.action == Action::Redact);
        scanner.action == Action::Block && (redacted_later || !redacting.is_empty())
    });
    let blocking: Vec<Scanner> = blocking.map(|(_, scanner)| scanner.clone()).collect();
    redacting.into_iter().chain(blocking).collect()
}

impl fmt::Debug for Policy {
    /// The patterns and phrases are not shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Policy").field("id", &self.id()).field("scanners", &self.scanners()).finish()
    }
}
