use proptest::sample::Index;
use ragengine_guardrails::{Outcome, Policy};

pub fn policy(yaml: &str) -> Policy {
    Policy::parse(yaml).unwrap_or_else(|error| panic!("{error}"))
}

/// Splits a text at some characters.
pub fn split(text: &str, cuts: &[Index]) -> Vec<String> {
    let mut offsets: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
    offsets.extend([0, text.len()]);
    offsets.sort_unstable();
    offsets.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect()
}

/// What a stream shows in all.
pub fn streamed<S: AsRef<str>>(policy: &Policy, pieces: Vec<S>) -> (String, Outcome) {
    let mut stream = policy.stream();
    let mut shown: String = pieces.iter().map(|piece| stream.push(piece.as_ref())).collect();
    shown.push_str(&stream.finish());
    (shown, stream.outcome())
}

/// One case: what an answer that arrives in `pieces` becomes.
pub struct Case<'a> {
    pub policy: &'a str,
    pub pieces: &'a [&'a str],
    pub shown: &'a str,
    pub outcome: Outcome,
}

impl Case<'_> {
    /// Checks it as a whole, in the pieces, and character by character. Of a blocked answer, the text before the block
    /// message depends on the pieces: it must be the beginning of the answer.
    pub fn assert(&self) {
        let text = self.pieces.concat();
        let policy = policy(self.policy);
        let checked = policy.check(&text);
        assert_eq!(
            (checked.text.as_str(), checked.outcome),
            (self.shown, self.outcome),
            "whole: {:?}",
            &text[..text.floor_char_boundary(100)]
        );
        assert_eq!(checked.triggered.is_empty(), self.outcome == Outcome::Passed, "{text:?}");
        let characters = text.chars().map(String::from).collect();
        for pieces in [self.pieces.iter().map(|piece| (*piece).to_owned()).collect(), characters] {
            let (shown, outcome) = streamed::<String>(&policy, pieces);
            assert_eq!(outcome, self.outcome, "{text:?}");
            if outcome == Outcome::Blocked {
                let before = shown.strip_suffix(self.shown).unwrap();
                let before = before.strip_suffix("\n\n").unwrap_or(before);
                assert!(text.starts_with(before), "{shown:?} of {text:?}");
            } else {
                assert_eq!(shown, self.shown, "of {text:?}");
            }
        }
    }
}

/// An answer that becomes another.
pub fn redacted(policy: &str, pieces: &[&str], shown: &str) {
    Case { policy, pieces, shown, outcome: Outcome::Redacted }.assert();
}

/// An answer that stays.
pub fn passed(policy: &str, pieces: &[&str]) {
    Case { policy, pieces, shown: &pieces.concat(), outcome: Outcome::Passed }.assert();
}

/// An answer that is blocked. The policy's block message must be `<stop>`.
pub fn blocked(policy: &str, pieces: &[&str]) {
    Case { policy, pieces, shown: "<stop>", outcome: Outcome::Blocked }.assert();
}

/// A policy with one scanner, given by its fields in YAML's short form.
pub fn one(scanner: &str) -> String {
    format!("blockMessage: <stop>\nscanners: [{{{scanner}}}]\n")
}
