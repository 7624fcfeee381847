//! Writes interactions as entries of a context.

use super::Interaction;
use super::entries::joined;
use super::relevance::most_relevant;

/// What stands for a provider or a category that is missing.
const UNKNOWN: &str = "unknown";

/// The bounds of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryLimits {
    /// The most characters of all entries, without the separators. The first entry may have more.
    pub max_chars: usize,
    /// The most entries, at least 1.
    pub max_entries: usize,
    /// Whether an entry begins with its provider, category and similarity.
    pub include_metadata: bool,
}

impl Default for EntryLimits {
    fn default() -> Self {
        Self { max_chars: 2000, max_entries: 5, include_metadata: true }
    }
}

/// The decision about an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryDecision {
    /// It is in the context.
    Taken,
    /// It has no question or no answer.
    Skipped,
    /// It is behind the limits.
    Cut,
    /// It shares too few words with the question.
    Filtered,
}

impl EntryDecision {
    /// The value of this decision in the log.
    pub fn label(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Skipped => "skipped",
            Self::Cut => "cut",
            Self::Filtered => "filtered",
        }
    }
}

/// An entry of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The position of its interaction in the list that was given.
    pub position: usize,
    /// Its text.
    pub text: String,
}

/// A context of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The entries in their order.
    pub entries: Vec<Entry>,
    /// The decision about each interaction, in the order that was given.
    pub decisions: Vec<EntryDecision>,
}

impl Built {
    /// The context: the entries with separators between them.
    pub fn context(&self) -> String {
        joined(self.entries.iter().map(|entry| entry.text.as_str()))
    }

    /// The characters of all entries, without the separators.
    pub fn total_chars(&self) -> usize {
        self.entries.iter().map(|entry| entry.text.chars().count()).sum()
    }

    /// What the log says on level INFO. None without entries.
    pub fn log_line(&self) -> Option<String> {
        let (entries, chars) = (self.entries.len(), self.total_chars());
        (entries > 0).then(|| format!("Built RAG context from {entries} similar interactions ({chars} chars)"))
    }

    /// Drops the last entry.
    pub fn cut_last(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.decisions[entry.position] = EntryDecision::Cut;
        }
    }

    /// Keeps the entries that share most words with the question, the most relevant first. As answers may hold
    /// separators, this is more exact than to split the finished context.
    pub fn keep_relevant(&mut self, question: &str, max_entries: usize, threshold: f64) {
        let texts: Vec<&str> = self.entries.iter().map(|entry| entry.text.as_str()).collect();
        let kept = most_relevant(&texts, question, max_entries, threshold);
        self.entries.iter().for_each(|entry| self.decisions[entry.position] = EntryDecision::Filtered);
        self.entries = kept.into_iter().map(|place| self.entries[place].clone()).collect();
        self.entries.iter().for_each(|entry| self.decisions[entry.position] = EntryDecision::Taken);
    }
}

/// The context of interactions in their order. It stops when it has `max_entries`, or before the first entry that makes
/// it longer than `max_chars`. An interaction without a question or an answer is skipped.
pub fn build_context(interactions: &[Interaction<'_>], limits: EntryLimits) -> Built {
    let mut built = Built { entries: Vec::new(), decisions: vec![EntryDecision::Cut; interactions.len()] };
    let mut total_chars = 0;
    for (position, interaction) in interactions.iter().enumerate() {
        let Some(text) = entry(interaction, limits.include_metadata) else {
            built.decisions[position] = EntryDecision::Skipped;
            continue;
        };
        let chars = text.chars().count();
        if total_chars + chars > limits.max_chars && !built.entries.is_empty() {
            break;
        }
        built.entries.push(Entry { position, text });
        built.decisions[position] = EntryDecision::Taken;
        total_chars += chars;
        if built.entries.len() >= limits.max_entries {
            break;
        }
    }
    built
}

/// The text of an entry. None without a question or an answer.
fn entry(interaction: &Interaction<'_>, include_metadata: bool) -> Option<String> {
    let (question, answer) = (interaction.question.trim(), interaction.answer.trim());
    if question.is_empty() || answer.is_empty() {
        return None;
    }
    let said = format!("Q: {question}\nA: {answer}");
    if !include_metadata {
        return Some(said);
    }
    let provider = interaction.provider.unwrap_or(UNKNOWN);
    let category = interaction.category.unwrap_or(UNKNOWN);
    let similarity = interaction.similarity.unwrap_or_default();
    Some(format!("[{provider}/{category} - similarity: {similarity:.3}]\n{said}"))
}
