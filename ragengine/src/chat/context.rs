//! The context of a question: counts and selects the retrieved chunks, reads the selected ones, looks for earlier
//! interactions, and writes the prompt.

mod choosing;

use std::sync::Arc;

use choosing::{Chosen, CutChunk, render};
use ragengine_client::wire::ExplainedChunk;
use ragengine_compute::Waiter;
use ragengine_engine::Candidates;
use ragengine_index::IndexError;
use ragengine_index::search::{Found, RetrievedChunk, TextOutcome};
use ragengine_pipeline::finish::{FinishedPrompt, PromptInput, finish, without_blocks};
use ragengine_pipeline::prompt::{Boundary, ConversationInput};
use ragengine_pipeline::request::{ContextFormat, HistoryFormat};
use ragengine_pipeline::select::{Candidate, Decision, Selection};
use serde_json::Value;

use super::interactions::{self, Place};
use super::ongoing::Ongoing;
use super::passage::{ChatPassage, passages, single};
use super::question::Asked;
use super::search;
use crate::app::App;
use crate::boundary::new_boundary;
use crate::error::ApiError;
use crate::report::{Selected, Stage};
use crate::retrieval::stages::Endpoint;

/// Up to three digits, numbers have the same count of tokens in every tokenizer whose counts add up.
const LARGEST_NUMBER_OF_ONE_TOKEN: usize = 999;

/// The context of a prompt.
pub(super) struct Context {
    /// The passages in the prompt, in order.
    pub passages: Vec<ChatPassage>,
    /// The finished prompt. `None` if the conversation is sent as it is.
    pub finished: Option<FinishedPrompt>,
    /// Whether the prompt has passages, or interactions that may stand alone.
    pub has_context: bool,
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
    app: &App,
    asked: &Arc<Asked>,
    found: search::Found,
    report: &mut Ongoing,
) -> Result<Context, ApiError> {
    let search::Found { vectors, candidates, max_distance, condensed_question } = found;
    let loaded = app.loaded()?;
    let (asked_of, question) = (Arc::clone(asked), condensed_question.clone());
    let choosing = move || {
        let chosen = Chosen::of(&asked_of, &candidates, question.as_deref(), max_distance)?;
        Ok::<_, IndexError>((chosen, candidates))
    };
    let (chosen, mut candidates) = loaded.search_pool.run(choosing).await?;
    let Chosen { counted, selection, cut, tokens_left } = chosen;
    let boundary = new_boundary()?;
    let place = Place { vectors: &vectors, boundary: &boundary, tokens_left };
    let interactions = interactions::part(app, asked, place, report).await?;
    let writing = Writing {
        asked: Arc::clone(asked),
        boundary,
        interactions,
        condensed_question,
        history_format: asked.history_format(&app.settings),
        cut,
        needs_vectors: asked.on.citations && app.settings.citations.verify,
    };
    if writing.needs_vectors {
        candidates.load_vectors(selection.selected()).await?;
    }
    let (context, selected) = loaded.search_pool.run(move || writing.finish(&candidates, &counted, selection)).await?;
    report.stage_ends(Stage::Select);
    report.was_selected(selected, context.finished.as_ref().filter(|_| context.has_context));
    Ok(context)
}

/// The state for writing a prompt.
struct Writing {
    asked: Arc<Asked>,
    /// A random word in the lines around the passages, unique to this prompt.
    boundary: Boundary,
    /// The part with earlier interactions.
    interactions: Option<String>,
    /// The question that needs no history.
    condensed_question: Option<String>,
    history_format: HistoryFormat,
    /// The chunk of which only the beginning goes into the prompt. It is the last selected one.
    cut: Option<CutChunk>,
    /// Whether the vectors of the passages are needed after the answer.
    needs_vectors: bool,
}

impl Writing {
    /// Reads the selected chunks and writes the prompt. Drops the last passages if they do not fit. Also returns the
    /// selection for the report.
    fn finish(
        &self,
        candidates: &Candidates,
        counted: &[Candidate],
        mut selection: Selection,
    ) -> Result<(Context, Selected), ApiError> {
        let positions: Vec<usize> = selection.selected().collect();
        let cut = self.cut.as_ref().map(|cut| cut.chunk.clone());
        let whole = positions.iter().copied().filter(|position| !self.is_cut(*position));
        let selected = candidates.read(whole)?;
        let chunks = selected.iter().chain(&cut);
        let names: Vec<Name> =
            positions.iter().zip(chunks).map(|(position, chunk)| Name::of(*position, chunk)).collect();
        let mut passages = passages(selected, self.asked.on.diversity);
        // It is not joined with its neighbours, because they continue its whole text.
        passages.extend(cut.map(|chunk| single(positions.len() - 1, chunk)));
        if self.needs_vectors {
            self.add_vectors(&mut passages, candidates, &positions)?;
        }
        let finished = self.write(&self.blocks(&passages, &positions, counted))?;
        let kept = finished.as_ref().map_or(0, |finished| finished.blocks);
        for member in passages.drain(kept..).flat_map(|passage| passage.members) {
            let position = positions[member.place];
            selection.decisions[position] = Decision::OverBudget;
            let cut = self.cut.as_ref().filter(|cut| cut.position == position);
            let tokens = cut.map_or(counted[position].tokens, |cut| cut.tokens);
            selection.used_tokens = selection.used_tokens.saturating_sub(tokens);
        }
        let last_distance = selection.selected().map(|position| candidates.found()[position].distance);
        let reported = Selected {
            chunks: self.explain(candidates, names, counted, &selection)?,
            decisions: Decision::ALL.map(|decision| (decision, selection.count(decision))),
            used_tokens: selection.used_tokens,
            nearest_distance: candidates.distances().reduce(f32::min),
            last_distance: last_distance.reduce(f32::max),
        };
        let relevant = reported.count(Decision::Selected) + reported.count(Decision::OverBudget);
        // `/chat` answers from documents only.
        let may_be_without_passages = self.interactions.is_some() && self.asked.way.endpoint != Endpoint::Chat;
        let has_context = finished.is_some() && (!passages.is_empty() || may_be_without_passages);
        Ok((Context { passages, finished, has_context, relevant }, reported))
    }

    fn is_cut(&self, position: usize) -> bool {
        self.cut.as_ref().is_some_and(|cut| cut.position == position)
    }

    /// Adds the vectors of the chunks to the passages.
    fn add_vectors(
        &self,
        passages: &mut [ChatPassage],
        candidates: &Candidates,
        positions: &[usize],
    ) -> Result<(), IndexError> {
        for member in passages.iter_mut().flat_map(|passage| &mut passage.members) {
            member.vector = Some(candidates.vector(positions[member.place])?);
        }
        Ok(())
    }

    /// The blocks of the passages, with their tokens. A joined passage is counted again, because the overlap of its
    /// chunks is in it once.
    fn blocks(&self, passages: &[ChatPassage], positions: &[usize], counted: &[Candidate]) -> Blocks {
        let texts: Vec<String> = passages
            .iter()
            .enumerate()
            .map(|(number, passage)| render(self.asked.on.context_format, number + 1, &passage.chunk))
            .collect();
        let tokens = |(passage, text): (&ChatPassage, &String)| match passage.members.as_slice() {
            [only] if !self.is_cut(positions[only.place]) => counted[positions[only.place]].tokens,
            _ => self.asked.served.counter.text(text),
        };
        Blocks { tokens: passages.iter().zip(&texts).map(tokens).collect(), texts }
    }

    /// Writes the prompt. `None` if the conversation is sent as it is: no passage fits, there is nothing else for the
    /// system message, and the history needs no other form.
    fn write(&self, blocks: &Blocks) -> Result<Option<FinishedPrompt>, ApiError> {
        let Blocks { texts: blocks, tokens: block_tokens } = blocks;
        let asked = &*self.asked;
        let needs_form = self.history_format == HistoryFormat::Section && !asked.turn.history.is_empty();
        let is_needed = |blocks: usize| {
            blocks > 0 || self.interactions.is_some() || self.condensed_question.is_some() || needs_form
        };
        if !is_needed(blocks.len()) {
            return Ok(None);
        }
        let given = PromptInput {
            conversation: ConversationInput {
                conversation: &asked.request.conversation,
                sent: &asked.sent,
                turn: &asked.turn,
                history_format: self.history_format,
            },
            standalone_question: self.condensed_question.as_deref(),
            window: asked.served.window_tokens,
            conversation_tokens: asked.conversation_tokens,
            budget: &asked.budget,
            boundary: &self.boundary,
            format: asked.on.context_format,
            interactions: self.interactions.as_deref(),
        };
        let (counter, waiter) = (&asked.served.counter, Waiter::default());
        let counted = |messages: &[Value]| counter.conversation(messages, &waiter) + asked.tools_tokens;
        // Separators are between blocks with sources, so their counts do not add up.
        let adds_up = asked.on.context_format == ContextFormat::Numbered
            && counter.adds_up()
            && (1..=LARGEST_NUMBER_OF_ONE_TOKEN).contains(&blocks.len());
        let finished = if adds_up {
            let without_blocks = counted(&without_blocks(&given));
            // Without blocks, their instructions are left out, and perhaps the standalone question.
            finish(&given, blocks, |messages, kept| match kept {
                0 => counted(messages),
                _ => without_blocks + block_tokens[..kept].iter().sum::<u64>(),
            })?
        } else {
            finish(&given, blocks, |messages, _| counted(messages))?
        };
        Ok(Some(finished).filter(|finished| is_needed(finished.blocks)))
    }

    /// Explains the decisions about the selected chunks, which are named, or about all retrieved chunks if the request
    /// has `explain`.
    fn explain(
        &self,
        candidates: &Candidates,
        mut names: Vec<Name>,
        counted: &[Candidate],
        selection: &Selection,
    ) -> Result<Vec<ExplainedChunk>, IndexError> {
        if self.asked.request.explain {
            let all = candidates.read_all()?;
            names = all.iter().enumerate().map(|(position, chunk)| Name::of(position, chunk)).collect();
        } else {
            names.retain(|name| selection.decisions[name.position] == Decision::Selected);
        }
        let is_scored = !matches!(candidates.text, TextOutcome::Off) || self.asked.on.feedback;
        let explained = |Name { position, node_id, doc_id, found }: Name| {
            let decision = selection.decisions[position];
            ExplainedChunk {
                node_id,
                doc_id,
                distance: found.distance,
                score: is_scored.then_some(found.score),
                adjustment: self.asked.on.feedback.then_some(found.adjustment),
                tokens: (!matches!(decision, Decision::OverThreshold | Decision::Duplicate))
                    .then_some(counted[position].tokens),
                decision: decision.label().to_owned(),
            }
        };
        Ok(names.into_iter().map(explained).collect())
    }
}

/// What an explanation says about every chunk.
struct Name {
    position: usize,
    node_id: String,
    doc_id: String,
    found: Found,
}

impl Name {
    fn of(position: usize, chunk: &RetrievedChunk) -> Self {
        Self { position, node_id: chunk.node_id.clone(), doc_id: chunk.doc_id.clone(), found: chunk.found }
    }
}

/// The blocks of a prompt, with the tokens of each.
struct Blocks {
    texts: Vec<String>,
    tokens: Vec<u64>,
}
