//! What is kept of a chat: the answer, so that it can be voted on, and the interaction.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ragengine_embedding::Windows;
use ragengine_errors::Logged as _;
use ragengine_pipeline::interactions::limits::{DEFAULT_CATEGORY, provider};
use ragengine_stores::{Answer, Interaction};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::warn;

use super::answer_id;
use super::cached::{Entry, Keys};
use super::open_turn::OpenTurn;
use super::passage::ChatPassage;
use super::question::Asked;
use crate::app::App;
use crate::error::ApiError;
use crate::stores::KeptInteractions;

/// The most bytes of the question and of the answer of an interaction. A longer one is not kept.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// The most bytes of a question that is kept for votes. Of a longer one, the beginning is.
const MAX_QUESTION_BYTES: usize = 4 << 10;

/// The most chunks of an answer that votes count for: the best ones.
const MAX_VOTED_CHUNKS: usize = 300;

/// How long a reply waits until its answer can be voted on.
const RECORDING_TIMEOUT: Duration = Duration::from_secs(1);

/// The finish reason of an answer that is whole.
const WHOLE: &str = "stop";

/// A chunk, as interactions refer to it: enough to find out whether it is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkReference<'a> {
    /// The chunk's id in the API.
    pub node_id: &'a str,
    /// Its position in the document, from 0.
    pub ordinal: u32,
    /// The id of its document, which may have spaces.
    pub doc_id: &'a str,
}

impl<'a> ChunkReference<'a> {
    /// Reads what [`Self::text`] wrote.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (node_id, place) = text.split_once(' ')?;
        let (ordinal, doc_id) = place.split_once(' ')?;
        Some(Self { node_id, ordinal: ordinal.parse().ok()?, doc_id })
    }

    fn text(self) -> String {
        format!("{} {} {}", self.node_id, self.ordinal, self.doc_id)
    }
}

/// What is kept of a chat. The answer is recorded at once, and the interaction when the answer is whole.
pub(super) struct Kept {
    /// The id under which the answer can be voted on.
    pub answer_id: Option<String>,
    /// The turn of the conversation.
    pub turn: Option<OpenTurn>,
    recording: Option<JoinHandle<()>>,
    interaction: Option<Unanswered>,
}

/// An interaction whose answer is not known yet.
struct Unanswered {
    store: Arc<KeptInteractions>,
    interaction: Interaction,
    is_whole: bool,
}

impl Kept {
    /// Begins to keep a chat with these passages in its prompt. `None` if nothing is kept.
    ///
    /// # Errors
    ///
    /// When the server is not ready.
    pub fn begin(
        app: &App,
        asked: &Asked,
        vectors: &Windows,
        passages: &[ChatPassage],
        cache_keys: Option<&Keys>,
    ) -> Result<Option<Self>, ApiError> {
        let id = answer_id::of(asked);
        let about = About { vector: || vectors.mean(), node_ids: node_ids(passages), cache_keys };
        let recording = record(app, asked, &id, about)?;
        let interaction = interaction(app, asked, &id, (|| vectors.mean(), chunk_references(passages)))?;
        let answer_id = recording.is_some().then_some(id);
        let is_in_session = asked.way.conversation.as_ref().is_some_and(|conversation| conversation.place.is_some());
        let is_empty = recording.is_none() && interaction.is_none() && !is_in_session;
        Ok((!is_empty).then_some(Self { answer_id, turn: None, recording, interaction }))
    }

    /// Begins to keep a chat whose answer was known.
    ///
    /// # Errors
    ///
    /// When the server is not ready.
    pub fn known(app: &App, asked: &Asked, entry: &Entry, keys: &Keys) -> Result<Option<Self>, ApiError> {
        let id = answer_id::of(asked);
        let vector = || entry.vector.clone();
        let about = About { vector, node_ids: entry.node_ids.clone(), cache_keys: Some(keys) };
        let recording = record(app, asked, &id, about)?;
        let interaction = interaction(app, asked, &id, (vector, entry.chunk_references.clone()))?;
        let is_in_session = asked.way.conversation.as_ref().is_some_and(|conversation| conversation.place.is_some());
        let answer_id = recording.is_some().then_some(id);
        let is_empty = recording.is_none() && interaction.is_none() && !is_in_session;
        Ok((!is_empty).then_some(Self { answer_id, turn: None, recording, interaction }))
    }

    /// Begins the turn of a conversation with these passages, which are a JSON list. The last step before the language
    /// model is asked.
    pub fn begin_turn(&mut self, asked: &Asked, sources: &str) {
        let place = asked.way.conversation.as_ref().and_then(|conversation| conversation.place.clone());
        self.turn = place.map(|place| {
            let (question, model) = (asked.turn.user_prompt.clone(), asked.served.name.clone());
            let turn = OpenTurn::begin(place, question, model, self.answer_id.clone());
            turn.has_sources(sources);
            turn
        });
    }

    /// The answer has failed. What was sent of it is kept in the conversation, and nothing else.
    pub fn failed(self) {
        self.turn.into_iter().for_each(OpenTurn::failed);
    }

    /// Waits until the answer can be voted on, but not for long.
    pub async fn recorded(&mut self) {
        if let Some(recording) = self.recording.take() {
            // A panic has been reported, and a late record is kept nevertheless.
            drop(timeout(RECORDING_TIMEOUT, recording).await);
        }
    }

    /// Whether the text of the answer is needed.
    pub fn needs_text(&self) -> bool {
        self.interaction.is_some() || self.turn.is_some()
    }

    /// Adds a part of the answer as it is sent, and why the answer ended.
    pub fn hear_text(&mut self, text: &str, finish_reason: Option<&str>) {
        let Some(unanswered) = &mut self.interaction else { return };
        unanswered.hear(text, finish_reason);
        if unanswered.interaction.ai_response.len() > MAX_TEXT_BYTES {
            self.interaction = None;
        }
    }

    /// The answer is not to be used again.
    pub fn forget_interaction(&mut self) {
        self.interaction = None;
    }

    /// Keeps the interaction, if its answer is whole. Call it when the answer has been sent.
    pub fn answered(self) {
        let Some(Unanswered { store, interaction, is_whole }) = self.interaction else { return };
        let is_short = (1..=MAX_TEXT_BYTES).contains(&interaction.ai_response.trim().len());
        if is_whole && is_short {
            store.keep_later(interaction);
        }
    }
}

impl Unanswered {
    fn hear(&mut self, text: &str, finish_reason: Option<&str>) {
        self.interaction.ai_response.push_str(text);
        self.is_whole = self.is_whole || finish_reason == Some(WHOLE);
    }
}

/// What is known about an answer before it is there.
struct About<'a, V: FnOnce() -> Vec<f32>> {
    vector: V,
    node_ids: Vec<String>,
    cache_keys: Option<&'a Keys>,
}

/// Records an answer in the background, so that it can be voted on. None if votes are not kept, or the stage is off.
fn record<V: FnOnce() -> Vec<f32>>(
    app: &App,
    asked: &Asked,
    id: &str,
    about: About<'_, V>,
) -> Result<Option<JoinHandle<()>>, ApiError> {
    let stores = &app.loaded()?.stores;
    let feedback = stores.feedback().filter(|_| asked.on.feedback);
    Ok(feedback.map(|store| {
        let (store, answer) = (Arc::clone(store), answer(id, asked, about));
        stores.background().spawn(async move {
            if let Err(error) = store.record_answer(answer).await {
                warn!(kind = error.kind(), reason = error.for_log(), "answer not kept: it cannot be voted on");
            }
        })
    }))
}

fn answer<V: FnOnce() -> Vec<f32>>(id: &str, asked: &Asked, about: About<'_, V>) -> Answer {
    let question = &asked.turn.user_prompt;
    Answer {
        id: id.to_owned(),
        owner: asked.owner.clone(),
        index_name: asked.index.name().to_owned(),
        question: question[..question.floor_char_boundary(MAX_QUESTION_BYTES)].to_owned(),
        fingerprint: asked.index.record().embedding_fingerprint.clone(),
        vector: (about.vector)(),
        node_ids: about.node_ids,
        cache_key: about.cache_keys.map(Keys::text),
        created_at_ms: Timestamp::now().as_millisecond(),
    }
}

/// The ids of the chunks in the prompt that votes count for.
pub(super) fn node_ids(passages: &[ChatPassage]) -> Vec<String> {
    let members = passages.iter().flat_map(|passage| &passage.members);
    members.take(MAX_VOTED_CHUNKS).map(|member| member.node_id.clone()).collect()
}

/// The chunks in the prompt, as interactions refer to them.
pub(super) fn chunk_references(passages: &[ChatPassage]) -> Vec<String> {
    let references = |passage: &ChatPassage| -> Vec<String> {
        let doc_id = &passage.chunk.doc_id;
        let members = passage.members.iter();
        members
            .map(|member| ChunkReference { node_id: &member.node_id, ordinal: member.ordinal, doc_id }.text())
            .collect()
    };
    passages.iter().flat_map(references).collect()
}

/// The interaction of a question with this vector and these chunks in its prompt. None if it is not kept.
fn interaction(
    app: &App,
    asked: &Asked,
    id: &str,
    (vector, chunk_references): (impl FnOnce() -> Vec<f32>, Vec<String>),
) -> Result<Option<Unanswered>, ApiError> {
    let is_short = asked.turn.user_prompt.len() <= MAX_TEXT_BYTES;
    let is_kept = asked.keeps_interaction && !chunk_references.is_empty() && is_short;
    let store = app.loaded()?.stores.interactions().filter(|_| is_kept);
    let model = asked.served.name.as_deref().unwrap_or("unknown");
    let category = asked.request.stages.task_category.as_deref().unwrap_or(DEFAULT_CATEGORY);
    let interaction = |store: &Arc<KeptInteractions>| Unanswered {
        store: Arc::clone(store),
        is_whole: false,
        interaction: Interaction {
            owner: asked.owner.clone(),
            id: id.to_owned(),
            index_name: asked.index.name().to_owned(),
            fingerprint: asked.index.record().embedding_fingerprint.clone(),
            vector: vector(),
            user_input: asked.turn.user_prompt.clone(),
            ai_response: String::new(),
            ai_provider: provider(model, &app.settings.interactions.provider_name),
            task_category: category.to_owned(),
            node_ids: chunk_references,
            created_at_ms: Timestamp::now().as_millisecond(),
        },
    };
    Ok(store.map(interaction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        let chunk = ChunkReference { node_id: "9b1d", ordinal: 3, doc_id: "my handbook.md" };
        assert_eq!(ChunkReference::parse(&chunk.text()), Some(chunk));
        for broken in ["", "9b1d", "9b1d 3", "9b1d x handbook.md"] {
            assert_eq!(ChunkReference::parse(broken), None, "{broken}");
        }
    }
}
