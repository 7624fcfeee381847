//! The context of a question: counts and selects the retrieved chunks, reads the selected ones, and writes the prompt.

use std::sync::Arc;

use ragengine_client::wire::ExplainedChunk;
use ragengine_compute::Waiter;
use ragengine_index::IndexError;
use ragengine_index::search::{Candidates, RetrievedChunk, TextOutcome};
use ragengine_pipeline::finish::{FinishedPrompt, PromptInput, finish, without_blocks};
use ragengine_pipeline::prompt::{Boundary, Passage, block};
use ragengine_pipeline::select::{Candidate, Decision, Selection, is_near, select};
use serde_json::Value;

use super::ongoing::Ongoing;
use super::question::Asked;
use super::tokens::TokenCounter;
use crate::app::Loaded;
use crate::boundary::new_boundary;
use crate::error::ApiError;
use crate::report::{Selected, Stage};

/// Blocks are counted with this number, because the number of a chunk differs between prompts. Shorter numbers do not
/// have more tokens.
const COUNTED_NUMBER: usize = 100;

/// Up to three digits, numbers have the same count of tokens in every tokenizer whose counts add up.
const LARGEST_NUMBER_OF_ONE_TOKEN: usize = 999;

/// The context of a prompt.
pub(super) struct Context {
    /// The chunks in the prompt, in order.
    pub selected: Vec<RetrievedChunk>,
    /// The finished prompt. `None` if it has no chunks.
    pub finished: Option<FinishedPrompt>,
    /// Number of chunks within the threshold, selected or not.
    pub relevant: usize,
}

/// Counts, selects and reads chunks, and writes the prompt.
///
/// # Errors
///
/// When the disk fails, or [`ragengine_pipeline::Rejection::ContextWindow`] when the prompt leaves no tokens for an
/// answer.
pub(super) async fn build(
    loaded: &Loaded,
    asked: &Arc<Asked>,
    candidates: Candidates,
    max_distance: f32,
    report: &mut Ongoing,
) -> Result<Context, ApiError> {
    let counter = asked.served.counter.clone();
    let counting = move || Ok::<_, IndexError>((count(&candidates, &counter, max_distance)?, candidates));
    let (counted, candidates) = loaded.search_pool.run(counting).await?;
    let selection = select(&counted, max_distance, asked.budget.context_tokens);
    let writing = Writing { asked: Arc::clone(asked), boundary: new_boundary()? };
    let (context, selected) = loaded.search_pool.run(move || writing.finish(&candidates, &counted, selection)).await?;
    report.stage_ends(Stage::Select);
    report.was_selected(selected, context.finished.as_ref());
    Ok(context)
}

/// Counts the tokens of each candidate within the threshold. Reads only chunks without a cached count.
fn count(candidates: &Candidates, counter: &TokenCounter, max_distance: f32) -> Result<Vec<Candidate>, IndexError> {
    let mut counted: Vec<Candidate> = candidates
        .found()
        .iter()
        .map(|found| Candidate { distance: found.distance, tokens: 0, is_duplicate: found.is_duplicate })
        .collect();
    let is_counted = |candidate: &Candidate| is_near(candidate.distance, max_distance) && !candidate.is_duplicate;
    let near: Vec<usize> = (0..counted.len()).filter(|&position| is_counted(&counted[position])).collect();
    let tokens = candidates.token_counts(counter.id(), &near, |found| counter.text(&render(COUNTED_NUMBER, found)))?;
    for (&position, tokens) in near.iter().zip(tokens) {
        counted[position].tokens = tokens;
    }
    Ok(counted)
}

/// The state for writing a prompt.
struct Writing {
    asked: Arc<Asked>,
    /// A random word in the lines around the chunks, unique to this prompt.
    boundary: Boundary,
}

impl Writing {
    /// Reads the selected chunks and writes the prompt. Drops the last chunks if they do not fit. Also returns the
    /// selection for the report.
    fn finish(
        &self,
        candidates: &Candidates,
        counted: &[Candidate],
        mut selection: Selection,
    ) -> Result<(Context, Selected), ApiError> {
        let positions: Vec<usize> = selection.selected().collect();
        let mut selected = candidates.read(positions.iter().copied())?;
        let blocks: Vec<String> =
            selected.iter().enumerate().map(|(number, found)| render(number + 1, found)).collect();
        let block_tokens: Vec<u64> = positions.iter().map(|&position| counted[position].tokens).collect();
        let finished = self.write(&blocks, &block_tokens)?;
        let kept = finished.as_ref().map_or(0, |finished| finished.blocks);
        for &position in &positions[kept..] {
            selection.decisions[position] = Decision::OverBudget;
            selection.used_tokens -= counted[position].tokens;
        }
        selected.truncate(kept);
        let reported = Selected {
            chunks: self.explain(candidates, &selected, counted, &selection)?,
            decisions: Decision::ALL.map(|decision| (decision, selection.count(decision))),
            used_tokens: selection.used_tokens,
            nearest_distance: candidates.distances().reduce(f32::min),
            last_distance: selected.iter().map(|chunk| chunk.found.distance).reduce(f32::max),
        };
        let relevant = reported.count(Decision::Selected) + reported.count(Decision::OverBudget);
        Ok((Context { selected, finished, relevant }, reported))
    }

    /// Writes the prompt. `None` if no chunk fits.
    fn write(&self, blocks: &[String], block_tokens: &[u64]) -> Result<Option<FinishedPrompt>, ApiError> {
        if blocks.is_empty() {
            return Ok(None);
        }
        let asked = &*self.asked;
        let given = PromptInput {
            conversation: &asked.request.conversation,
            sent: &asked.sent,
            turn: &asked.turn,
            window: asked.served.window_tokens,
            conversation_tokens: asked.conversation_tokens,
            budget: &asked.budget,
            boundary: &self.boundary,
        };
        let (counter, waiter) = (&asked.served.counter, Waiter::default());
        let finished = if counter.adds_up() && blocks.len() <= LARGEST_NUMBER_OF_ONE_TOKEN {
            let without_blocks = counter.conversation(&without_blocks(&given), &waiter);
            finish(&given, blocks, |_, kept| without_blocks + block_tokens[..kept].iter().sum::<u64>())?
        } else {
            finish(&given, blocks, |messages, _| counter.conversation(messages, &waiter))?
        };
        Ok(Some(finished).filter(|finished| finished.blocks > 0))
    }

    /// Explains the decisions about the selected chunks, or about all retrieved chunks if the request has `explain`.
    fn explain(
        &self,
        candidates: &Candidates,
        selected: &[RetrievedChunk],
        counted: &[Candidate],
        selection: &Selection,
    ) -> Result<Vec<ExplainedChunk>, IndexError> {
        let is_scored = !matches!(candidates.text, TextOutcome::Off);
        let chunk = |position: usize, found: &RetrievedChunk| {
            let decision = selection.decisions[position];
            ExplainedChunk {
                node_id: found.node_id.clone(),
                doc_id: found.doc_id.clone(),
                distance: found.found.distance,
                score: is_scored.then_some(found.found.score),
                tokens: (!matches!(decision, Decision::OverThreshold | Decision::Duplicate))
                    .then_some(counted[position].tokens),
                decision: decision.label().to_owned(),
            }
        };
        if self.asked.request.explain {
            let all = candidates.read_all()?;
            return Ok(all.iter().enumerate().map(|(position, found)| chunk(position, found)).collect());
        }
        Ok(selection.selected().zip(selected).map(|(position, found)| chunk(position, found)).collect())
    }
}

fn render(number: usize, found: &RetrievedChunk) -> String {
    let known = |name: &str| found.metadata.get(name).and_then(Value::as_str);
    let page = found.metadata.get("page").and_then(|page| page.as_u64().or_else(|| page.as_str()?.parse().ok()));
    let heading = found.heading.as_deref();
    block(number, &Passage { title: known("title"), heading, url: known("url"), page, text: &found.text })
}
