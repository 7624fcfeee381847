//! The context of a question: counts and selects the retrieved chunks, reads the selected ones, looks for earlier
//! interactions, and writes the prompt.

use std::sync::Arc;

use ragengine_client::wire::ExplainedChunk;
use ragengine_compute::Waiter;
use ragengine_engine::Candidates;
use ragengine_index::IndexError;
use ragengine_index::search::{Found, RetrievedChunk, TextOutcome};
use ragengine_pipeline::finish::{FinishedPrompt, PromptInput, finish, without_blocks};
use ragengine_pipeline::prompt::{Boundary, ConversationInput, Passage, block, source_block, standalone_question};
use ragengine_pipeline::request::{ContextFormat, HistoryFormat};
use ragengine_pipeline::select::{Candidate, Cut, Decision, Selection, beginning, is_near, select, select_cutting};
use serde_json::Value;

use super::interactions::{self, Place};
use super::ongoing::Ongoing;
use super::passage::{ChatPassage, page, passages, single};
use super::question::Asked;
use super::search;
use super::tokens::TokenCounter;
use crate::app::App;
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
    /// The passages in the prompt, in order.
    pub passages: Vec<ChatPassage>,
    /// The finished prompt. `None` if the conversation is sent as it is.
    pub finished: Option<FinishedPrompt>,
    /// Whether the prompt has passages or interactions.
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
    let (counter, format) = (asked.served.counter.clone(), asked.on.context_format);
    let counter_of_line = counter.clone();
    let counting = move || Ok::<_, IndexError>((count(&candidates, &counter, format, max_distance)?, candidates));
    let (counted, mut candidates) = loaded.search_pool.run(counting).await?;
    let question_tokens =
        condensed_question.as_deref().map_or(0, |question| counter_of_line.text(&standalone_question(question)));
    let context_tokens = asked.budget.context_tokens.saturating_sub(question_tokens);
    let (selection, cut) = if asked.cuts_chunks() {
        select_cutting(&counted, max_distance, context_tokens)
    } else {
        (select(&counted, max_distance, context_tokens), None)
    };
    let boundary = new_boundary()?;
    let tokens_left = context_tokens - selection.used_tokens;
    let place = Place { vectors: &vectors, boundary: &boundary, tokens_left };
    let interactions = interactions::part(app, asked, place, report).await?;
    let writing = Writing {
        asked: Arc::clone(asked),
        boundary,
        interactions,
        condensed_question,
        history_format: asked.history_format(&app.settings),
        cut,
        limits: (max_distance, context_tokens),
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

/// Counts the tokens of each candidate within the threshold. Reads only chunks without a cached count.
fn count(
    candidates: &Candidates,
    counter: &TokenCounter,
    format: ContextFormat,
    max_distance: f32,
) -> Result<Vec<Candidate>, IndexError> {
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
    /// The chunk of which only the beginning goes into the prompt.
    cut: Option<Cut>,
    /// The threshold for the distance of chunks, and the tokens for context.
    limits: (f32, u64),
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
        let mut positions: Vec<usize> = selection.selected().collect();
        let mut selected = candidates.read(positions.iter().copied())?;
        let cut = self.cut.and_then(|cut| self.beginning_of(cut, selected.pop()?));
        if self.cut.is_some() && cut.is_none() {
            // Not even a sentence of it fits. Chunks behind it may.
            let (max_distance, context_tokens) = self.limits;
            selection = select(counted, max_distance, context_tokens);
            positions = selection.selected().collect();
            selected = candidates.read(positions.iter().copied())?;
        }
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
            selection.used_tokens = selection.used_tokens.saturating_sub(counted[position].tokens);
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
        let has_context = finished.is_some() && (!passages.is_empty() || self.interactions.is_some());
        Ok((Context { passages, finished, has_context, relevant }, reported))
    }

    /// The beginning of a chunk that does not fit whole. None if not even a sentence does.
    fn beginning_of(&self, cut: Cut, chunk: RetrievedChunk) -> Option<RetrievedChunk> {
        let format = self.asked.on.context_format;
        let tokens_of = |text: &str| {
            let part = RetrievedChunk { text: text.to_owned(), ..chunk.clone() };
            self.asked.served.counter.text(&render(format, COUNTED_NUMBER, &part))
        };
        let text = beginning(&chunk.text, cut.tokens, tokens_of)?.to_owned();
        Some(RetrievedChunk { text, ..chunk })
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
        let is_cut = |position: usize| self.cut.is_some_and(|cut| cut.position == position);
        let tokens = |(passage, text): (&ChatPassage, &String)| match passage.members.as_slice() {
            [only] if !is_cut(positions[only.place]) => counted[positions[only.place]].tokens,
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

/// A block of the prompt.
fn render(format: ContextFormat, number: usize, found: &RetrievedChunk) -> String {
    let known = |name: &str| found.metadata.get(name).and_then(Value::as_str);
    if format == ContextFormat::Source {
        return source_block(known("url").or_else(|| known("path")).unwrap_or(&found.doc_id), &found.text);
    }
    let heading = found.heading.as_deref();
    block(number, &Passage { title: known("title"), heading, url: known("url"), page: page(found), text: &found.text })
}
