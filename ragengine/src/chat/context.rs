//! Finding, selecting and writing the context of a question: one piece of work, apart from the threads that serve requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ragengine_client::wire::ExplainedChunk;
use ragengine_pipeline::Rejection;
use ragengine_pipeline::budget::Budget;
use ragengine_pipeline::finish::{Finished, Unfinished, finish, without_blocks};
use ragengine_pipeline::plan::Turn;
use ragengine_pipeline::prompt::{Boundary, Passage, block};
use ragengine_pipeline::request::ChatRequest;
use ragengine_pipeline::select::{Candidate, Decision, Selection, is_near, select};
use serde_json::Value;

use super::tokens::TokenCounter;
use crate::compute::Caller;
use crate::embedding::Windows;
use crate::error::ApiError;
use crate::index::filter::Filter;
use crate::index::search::{Found, Nearest, Query};
use crate::index::{Index, IndexError};

/// Blocks are counted with this number, because a chunk has another one in each prompt: no shorter one costs more.
const COUNTED_NUMBER: usize = 100;

/// Up to this number, one costs what another does wherever tokens add up: three digits are one token there.
const LARGEST_NUMBER_OF_ONE_TOKEN: usize = 999;

/// What is asked, and everything that the answer depends on.
pub(super) struct Question {
    /// The request.
    pub request: Arc<ChatRequest>,
    /// Its messages as they were sent.
    pub sent: Vec<Value>,
    /// Its question and history.
    pub turn: Turn,
    /// The question's vectors.
    pub vectors: Windows,
    /// Where the answer is looked for.
    pub index: Arc<Index>,
    /// How tokens are counted.
    pub counter: TokenCounter,
    /// The served model's context window.
    pub window_tokens: u64,
    /// The conversation without context.
    pub conversation_tokens: u64,
    /// The division of the window.
    pub budget: Budget,
    /// The threshold.
    pub max_distance: f32,
    /// What the lines around the chunks carry: of this prompt alone.
    pub boundary: Boundary,
}

/// A boundary that nobody can guess.
///
/// # Errors
///
/// When the system gives no random numbers.
pub(super) fn new_boundary() -> Result<Boundary, ApiError> {
    let random = getrandom::u64();
    let random = random.map_err(|error| ApiError::Internal(format!("the system gives no random numbers: {error}")))?;
    Ok(Boundary::of(random))
}

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
    /// How long everything after the search took.
    pub selecting: Duration,
}

impl Context {
    /// How many chunks are near enough, selected or not.
    pub fn relevant(&self) -> usize {
        let relevant = self.decisions.iter().filter(|(decision, _)| *decision != Decision::OverThreshold);
        relevant.map(|(_, count)| count).sum()
    }
}

/// Finds, selects and writes. It computes: run it on the search pool.
///
/// # Errors
///
/// When FAISS or the disk refuses. Inside: [`Rejection::ContextWindow`] when the prompt leaves nothing for an answer.
pub(super) fn find(question: &Question) -> Result<Result<Context, Rejection>, IndexError> {
    let query = Query { vectors: question.vectors.clone(), top_k: question.budget.top_k, filter: Filter::default() };
    let nearest = question.index.nearest(&query)?;
    let started = Instant::now();
    let (candidates, mut selection) = choose(question, &nearest)?;
    let positions: Vec<usize> = selection.selected().collect();
    let mut selected = nearest.read(positions.iter().copied())?;
    let blocks: Vec<String> = selected.iter().enumerate().map(|(number, found)| render(number + 1, found)).collect();
    let block_tokens: Vec<u64> = positions.iter().map(|&position| candidates[position].tokens).collect();
    let finished = match write(question, &blocks, &block_tokens) {
        Ok(finished) => finished,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let kept = finished.as_ref().map_or(0, |finished| finished.blocks);
    for &position in &positions[kept..] {
        selection.decisions[position] = Decision::OverBudget;
        selection.used_tokens -= candidates[position].tokens;
    }
    selected.truncate(kept);
    Ok(Ok(Context {
        chunks: explain(question, &nearest, &selected, &candidates, &selection)?,
        decisions: [Decision::Selected, Decision::OverThreshold, Decision::OverBudget]
            .map(|decision| (decision, selection.count(decision))),
        used_tokens: selection.used_tokens,
        nearest_distance: nearest.hits().first().map(|hit| hit.distance),
        selected,
        finished,
        selecting: started.elapsed(),
    }))
}

/// The ContextSelectionProcessor on what was found. Only what is near enough is counted, and only what has never been counted is read.
fn choose(question: &Question, nearest: &Nearest) -> Result<(Vec<Candidate>, Selection), IndexError> {
    let hits = nearest.hits();
    let near: Vec<usize> =
        (0..hits.len()).filter(|&position| is_near(hits[position].distance, question.max_distance)).collect();
    let rows: Vec<u64> = near.iter().map(|&position| hits[position].row).collect();
    let counts = question.index.token_counts(
        question.counter.id(),
        &rows,
        |unknown| nearest.read(unknown.iter().map(|&place| near[place])),
        |found| question.counter.text(&render(COUNTED_NUMBER, found)),
    )?;
    let mut candidates: Vec<Candidate> =
        hits.iter().map(|hit| Candidate { distance: hit.distance, tokens: 0 }).collect();
    for (&position, tokens) in near.iter().zip(counts) {
        candidates[position].tokens = tokens;
    }
    let selection = select(&candidates, question.max_distance, question.budget.context_tokens);
    Ok((candidates, selection))
}

/// The finished prompt, unless no chunk is left in it.
fn write(question: &Question, blocks: &[String], block_tokens: &[u64]) -> Result<Option<Finished>, Rejection> {
    if blocks.is_empty() {
        return Ok(None);
    }
    let given = Unfinished {
        request: &question.request,
        sent: &question.sent,
        turn: &question.turn,
        window: question.window_tokens,
        conversation: question.conversation_tokens,
        budget: &question.budget,
        boundary: &question.boundary,
    };
    let (counter, caller) = (&question.counter, Caller::default());
    let finished = match counter.adds_up() && blocks.len() <= LARGEST_NUMBER_OF_ONE_TOKEN {
        true => {
            let without_blocks = counter.conversation(&without_blocks(&given), &caller);
            finish(&given, blocks, |_, kept| without_blocks + block_tokens[..kept].iter().sum::<u64>())?
        }
        false => finish(&given, blocks, |messages, _| counter.conversation(messages, &caller))?,
    };
    Ok(Some(finished).filter(|finished| finished.blocks > 0))
}

/// What was decided about the selected chunks, or about all of them when the request asks why.
fn explain(
    question: &Question,
    nearest: &Nearest,
    selected: &[Found],
    candidates: &[Candidate],
    selection: &Selection,
) -> Result<Vec<ExplainedChunk>, IndexError> {
    let chunk = |position: usize, found: &Found| {
        let decision = selection.decisions[position];
        ExplainedChunk {
            node_id: question.index.node_id(&found.document.doc_id, found.chunk.ordinal, &found.chunk.hash),
            doc_id: found.document.doc_id.clone(),
            distance: found.distance,
            tokens: (decision != Decision::OverThreshold).then_some(candidates[position].tokens),
            decision: decision.label().to_owned(),
        }
    };
    Ok(match question.request.explain {
        true => nearest
            .read(0..candidates.len())?
            .iter()
            .enumerate()
            .map(|(position, found)| chunk(position, found))
            .collect(),
        false => selection.selected().zip(selected).map(|(position, found)| chunk(position, found)).collect(),
    })
}

fn render(number: usize, found: &Found) -> String {
    let known = |name: &str| found.metadata.get(name).and_then(Value::as_str);
    let page = found.metadata.get("page").and_then(|page| page.as_u64().or_else(|| page.as_str()?.parse().ok()));
    let heading = found.chunk.heading.as_deref();
    block(number, &Passage { title: known("title"), heading, url: known("url"), page, text: &found.chunk.text })
}
