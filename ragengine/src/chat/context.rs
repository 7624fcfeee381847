//! The context of a question: what was found is counted and selected, the selected is read, the prompt is written. Between the steps the driver
//! is free to wait for something.

use std::sync::Arc;

use ragengine_client::wire::ExplainedChunk;
use ragengine_compute::Waiter;
use ragengine_index::IndexError;
use ragengine_index::search::{Candidates, Found};
use ragengine_pipeline::finish::{Finished, Unfinished, finish, without_blocks};
use ragengine_pipeline::prompt::{Boundary, Passage, block};
use ragengine_pipeline::select::{Candidate, Decision, Selection, is_near, select};
use serde_json::Value;

use super::ongoing::Ongoing;
use super::question::Asked;
use super::tokens::TokenCounter;
use crate::app::Loaded;
use crate::error::ApiError;
use crate::report::Stage;

/// Blocks are counted with this number, because a chunk has another one in each prompt: no shorter one costs more.
const COUNTED_NUMBER: usize = 100;

/// Up to this number, one costs what another does wherever tokens add up: three digits are one token there.
const LARGEST_NUMBER_OF_ONE_TOKEN: usize = 999;

/// What was found and selected.
pub(super) struct Context {
    /// The chunks that are in the prompt, in its order.
    pub selected: Vec<Found>,
    /// The finished prompt: none when no chunk is in it.
    pub finished: Option<Finished>,
    /// How often each decision was made.
    pub decisions: [(Decision, usize); 3],
    /// Tokens of the selected chunks.
    pub used_tokens: u64,
    /// The distance of the nearest chunk of all.
    pub nearest_distance: Option<f32>,
    /// The selected chunks, or all of them when the request asks why.
    pub chunks: Vec<ExplainedChunk>,
}

impl Context {
    /// How many chunks are near enough, selected or not.
    pub fn relevant(&self) -> usize {
        let relevant = self.decisions.iter().filter(|(decision, _)| *decision != Decision::OverThreshold);
        relevant.map(|(_, count)| count).sum()
    }
}

/// Counts, selects, reads and writes.
///
/// # Errors
///
/// When the disk refuses, or [`ragengine_pipeline::Rejection::ContextWindow`] when the prompt leaves nothing for an answer.
pub(super) async fn build(
    loaded: &Loaded,
    asked: &Arc<Asked>,
    candidates: Candidates,
    report: &mut Ongoing,
) -> Result<Context, ApiError> {
    let (counter, max_distance) = (asked.served.counter.clone(), asked.max_distance);
    let counting = move || Ok::<_, IndexError>((count(&candidates, &counter, max_distance)?, candidates));
    let (counted, candidates) = loaded.search_pool.run(counting).await?;
    let selection = select(&counted, asked.max_distance, asked.budget.context_tokens);
    let writing = Writing { asked: Arc::clone(asked), boundary: new_boundary()? };
    let context = loaded.search_pool.run(move || writing.finish(&candidates, &counted, selection)).await?;
    report.stage_ends(Stage::Select);
    report.was_selected(&context);
    Ok(context)
}

/// What each candidate costs. Only what is near enough is counted, and only what has never been counted is read.
fn count(candidates: &Candidates, counter: &TokenCounter, max_distance: f32) -> Result<Vec<Candidate>, IndexError> {
    let mut counted: Vec<Candidate> =
        candidates.distances().map(|distance| Candidate { distance, tokens: 0 }).collect();
    let near: Vec<usize> =
        (0..counted.len()).filter(|&position| is_near(counted[position].distance, max_distance)).collect();
    let tokens = candidates.token_counts(counter.id(), &near, |found| counter.text(&render(COUNTED_NUMBER, found)))?;
    for (&position, tokens) in near.iter().zip(tokens) {
        counted[position].tokens = tokens;
    }
    Ok(counted)
}

/// What a prompt is written from.
struct Writing {
    asked: Arc<Asked>,
    /// What the lines around the chunks carry: of this prompt alone.
    boundary: Boundary,
}

impl Writing {
    /// Reads what was selected and writes the prompt: what does not fit after all goes, from the end.
    fn finish(
        &self,
        candidates: &Candidates,
        counted: &[Candidate],
        mut selection: Selection,
    ) -> Result<Context, ApiError> {
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
        Ok(Context {
            chunks: self.explain(candidates, &selected, counted, &selection)?,
            decisions: [Decision::Selected, Decision::OverThreshold, Decision::OverBudget]
                .map(|decision| (decision, selection.count(decision))),
            used_tokens: selection.used_tokens,
            nearest_distance: candidates.distances().next(),
            selected,
            finished,
        })
    }

    /// The finished prompt, unless no chunk is left in it.
    fn write(&self, blocks: &[String], block_tokens: &[u64]) -> Result<Option<Finished>, ApiError> {
        if blocks.is_empty() {
            return Ok(None);
        }
        let asked = &*self.asked;
        let given = Unfinished {
            conversation: &asked.request.conversation,
            sent: &asked.sent,
            turn: &asked.turn,
            window: asked.served.window_tokens,
            conversation_tokens: asked.conversation_tokens,
            budget: &asked.budget,
            boundary: &self.boundary,
        };
        let (counter, waiter) = (&asked.served.counter, Waiter::default());
        let finished = match counter.adds_up() && blocks.len() <= LARGEST_NUMBER_OF_ONE_TOKEN {
            true => {
                let without_blocks = counter.conversation(&without_blocks(&given), &waiter);
                finish(&given, blocks, |_, kept| without_blocks + block_tokens[..kept].iter().sum::<u64>())?
            }
            false => finish(&given, blocks, |messages, _| counter.conversation(messages, &waiter))?,
        };
        Ok(Some(finished).filter(|finished| finished.blocks > 0))
    }

    /// What was decided about the selected chunks, or about all of them when the request asks why.
    fn explain(
        &self,
        candidates: &Candidates,
        selected: &[Found],
        counted: &[Candidate],
        selection: &Selection,
    ) -> Result<Vec<ExplainedChunk>, IndexError> {
        let chunk = |position: usize, found: &Found| {
            let decision = selection.decisions[position];
            ExplainedChunk {
                node_id: found.node_id.clone(),
                doc_id: found.document.doc_id.clone(),
                distance: found.distance,
                tokens: (decision != Decision::OverThreshold).then_some(counted[position].tokens),
                decision: decision.label().to_owned(),
            }
        };
        Ok(match self.asked.request.explain {
            true => candidates.read_all()?.iter().enumerate().map(|(position, found)| chunk(position, found)).collect(),
            false => selection.selected().zip(selected).map(|(position, found)| chunk(position, found)).collect(),
        })
    }
}

/// A boundary that nobody can guess.
fn new_boundary() -> Result<Boundary, ApiError> {
    let random = getrandom::u64();
    let random = random.map_err(|error| ApiError::Internal(format!("the system gives no random numbers: {error}")))?;
    Ok(Boundary::of(random))
}

fn render(number: usize, found: &Found) -> String {
    let known = |name: &str| found.metadata.get(name).and_then(Value::as_str);
    let page = found.metadata.get("page").and_then(|page| page.as_u64().or_else(|| page.as_str()?.parse().ok()));
    let heading = found.chunk.heading.as_deref();
    block(number, &Passage { title: known("title"), heading, url: known("url"), page, text: &found.chunk.text })
}
