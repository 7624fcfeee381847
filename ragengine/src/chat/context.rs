use std::sync::Arc;

use ragengine_pipeline::budget::Budget;
use ragengine_pipeline::plan::Turn;
use ragengine_pipeline::prompt::{Passage, block};
use ragengine_pipeline::select::{Candidate, select};
use serde_json::Value;

use super::tokens::TokenCounter;
use crate::app::{App, Loaded};
use crate::error::ApiError;
use crate::index::Index;
use crate::index::filter::Filter;
use crate::index::search::{Found, Query, SearchResult};

/// What goes into the prompt.
pub(super) struct Context {
    /// The vector of the question.
    pub question: Vec<f32>,
    /// The selected chunks, in the order of selection.
    pub selected: Vec<Found>,
    /// Their rendered blocks, numbered from 1.
    pub blocks: Vec<String>,
    /// Chunks that are near enough, selected or not.
    pub relevant: usize,
    /// The distance of the nearest chunk of all.
    pub nearest_distance: Option<f32>,
}

impl Context {
    /// Takes the last chunk out again.
    pub fn drop_last(&mut self) {
        self.selected.pop();
        self.blocks.pop();
    }
}

/// Finds and selects the context of a question.
pub(super) async fn find(
    app: &App,
    loaded: &Loaded,
    index: &Arc<Index>,
    turn: &Turn,
    budget: &Budget,
    counter: &TokenCounter,
) -> Result<Context, ApiError> {
    let max_distance = app.settings.retrieval.max_distance;
    let question = loaded.embedding.embed_query(&turn.user_prompt).await?;
    let query = Query {
        vector: question.clone(),
        top_k: budget.top_k,
        filter: Filter::default(),
        max_distance: Some(max_distance),
    };
    let (index, counter, context_tokens) = (Arc::clone(index), counter.clone(), budget.context_tokens);
    let result = loaded.search_pool.search(index, query).await?;
    // Counting takes a tokenizer's time for each chunk: it is kept from the threads that serve requests.
    let choosing = move || Ok(choose(result, &counter, max_distance, context_tokens, question));
    Ok(loaded.search_pool.run(choosing).await?)
}

/// Selects from what was found.
fn choose(
    result: SearchResult,
    counter: &TokenCounter,
    max_distance: f32,
    context_tokens: u64,
    question: Vec<f32>,
) -> Context {
    let candidate = |(position, found): (usize, &Found)| Candidate {
        distance: found.distance,
        tokens: counter.text(&render(position + 1, found)),
    };
    let candidates: Vec<Candidate> = result.found.iter().enumerate().map(candidate).collect();
    let chosen = select(&candidates, max_distance, context_tokens);
    let relevant = result.found.len();
    let mut is_chosen = vec![false; relevant];
    chosen.selected().for_each(|position| is_chosen[position] = true);
    let selected: Vec<Found> =
        result.found.into_iter().zip(is_chosen).filter_map(|(found, chosen)| chosen.then_some(found)).collect();
    let blocks = selected.iter().enumerate().map(|(position, found)| render(position + 1, found)).collect();
    Context { question, selected, blocks, relevant, nearest_distance: result.distances.first().copied() }
}

fn render(number: usize, found: &Found) -> String {
    let known = |name: &str| found.metadata.get(name).and_then(Value::as_str);
    let page = found.metadata.get("page").and_then(|page| page.as_u64().or_else(|| page.as_str()?.parse().ok()));
    let heading = found.chunk.heading.as_deref();
    block(number, &Passage { title: known("title"), heading, url: known("url"), page, text: &found.chunk.text })
}
