//! Chooses the chunks of a prompt: counts those that are near enough, and cuts the first one that does not fit.

use ragengine_engine::Candidates;
use ragengine_index::IndexError;
use ragengine_index::search::RetrievedChunk;
use ragengine_pipeline::prompt::{Passage, block, source_block, standalone_question};
use ragengine_pipeline::request::ContextFormat;
use ragengine_pipeline::select::{Candidate, Cut, Selection, beginning, is_near, select, select_cutting};
use serde_json::Value;

use super::super::passage::page;
use super::super::question::Asked;

/// Blocks are counted with this number, because the number of a chunk differs between prompts. Shorter numbers do not
/// have more tokens.
const COUNTED_NUMBER: usize = 100;

/// The chunks for a prompt.
pub(super) struct Chosen {
    /// The candidates with their tokens.
    pub counted: Vec<Candidate>,
    /// The decisions about them.
    pub selection: Selection,
    /// The last selected chunk, if only its beginning goes into the prompt.
    pub cut: Option<CutChunk>,
    /// The tokens for context that the chunks leave.
    pub tokens_left: u64,
}

/// The beginning of a chunk.
pub(super) struct CutChunk {
    /// Its position among the candidates.
    pub position: usize,
    /// The chunk, with the beginning of its text.
    pub chunk: RetrievedChunk,
    /// Its tokens.
    pub tokens: u64,
}

impl Chosen {
    /// Counts the candidates and chooses from them. The question that needs no history takes a part of the context.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn of(
        asked: &Asked,
        candidates: &Candidates,
        condensed_question: Option<&str>,
        max_distance: f32,
    ) -> Result<Self, IndexError> {
        let counter = &asked.served.counter;
        let counted = count(asked, candidates, max_distance)?;
        let question_tokens = condensed_question.map_or(0, |question| counter.text(&standalone_question(question)));
        let context_tokens = asked.budget.context_tokens.saturating_sub(question_tokens);
        let (selection, cut) = if asked.cuts_chunks() {
            // It is cut at once: what it leaves is for the interactions.
            select_cutting(&counted, max_distance, context_tokens, |cut| cut_chunk(asked, candidates, cut))?
        } else {
            (select(&counted, max_distance, context_tokens), None)
        };
        let tokens_left = context_tokens - selection.used_tokens;
        Ok(Self { counted, selection, cut, tokens_left })
    }
}

/// Counts the tokens of each candidate within the threshold. Reads only chunks without a cached count.
fn count(asked: &Asked, candidates: &Candidates, max_distance: f32) -> Result<Vec<Candidate>, IndexError> {
    let (counter, format) = (&asked.served.counter, asked.on.context_format);
    let mut counted: Vec<Candidate> = candidates
        .found()
        .iter()
        .map(|found| Candidate { distance: found.distance, tokens: 0, is_duplicate: found.is_duplicate })
        .collect();
    let is_counted = |candidate: &Candidate| is_near(candidate.distance, max_distance) && !candidate.is_duplicate;
    let near: Vec<usize> = (0..counted.len()).filter(|&position| is_counted(&counted[position])).collect();
    let counted_block = |found: &RetrievedChunk| counter.text(&render(format, COUNTED_NUMBER, found));
    let tokens = candidates.token_counts(counter.id(format), &near, counted_block)?;
    for (&position, tokens) in near.iter().zip(tokens) {
        counted[position].tokens = tokens;
    }
    Ok(counted)
}

/// The beginning of a chunk that does not fit whole, and its tokens. None if not even a sentence fits.
fn cut_chunk(asked: &Asked, candidates: &Candidates, cut: Cut) -> Result<Option<(CutChunk, u64)>, IndexError> {
    let Some(chunk) = candidates.read([cut.position])?.pop() else { return Ok(None) };
    let tokens_of = |text: &str| {
        let part = RetrievedChunk { text: text.to_owned(), ..chunk.clone() };
        asked.served.counter.text(&render(asked.on.context_format, COUNTED_NUMBER, &part))
    };
    let Some(text) = beginning(&chunk.text, cut.tokens, tokens_of).map(str::to_owned) else { return Ok(None) };
    // Without the white space at its end, it may be counted otherwise.
    let tokens = tokens_of(&text).min(cut.tokens);
    Ok(Some((CutChunk { position: cut.position, chunk: RetrievedChunk { text, ..chunk }, tokens }, tokens)))
}

/// A block of the prompt.
pub(super) fn render(format: ContextFormat, number: usize, found: &RetrievedChunk) -> String {
    let known = |name: &str| found.metadata.get(name).and_then(Value::as_str);
    if format == ContextFormat::Source {
        return source_block(known("url").or_else(|| known("path")).unwrap_or(&found.doc_id), &found.text);
    }
    let heading = found.heading.as_deref();
    block(number, &Passage { title: known("title"), heading, url: known("url"), page: page(found), text: &found.text })
}
