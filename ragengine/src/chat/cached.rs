//! Answers that are given again to the same question.

mod ticket;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ragengine_errors::Logged as _;
use ragengine_stores::{CacheKey, CachedAnswer, Epoch, Flight, KeyParts, Landed, LookUp};
use ragengine_traces::{Span, in_span};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};
use tracing::warn;

pub(super) use self::ticket::Ticket;
use super::question::Asked;
use super::rewrite::{Rewritten, rewrite};
use super::search::Embedded;
use crate::admission::{Permit, Work};
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::SideTasks;
use crate::stores::AnswerCache;

/// How long a question waits for the answer to an equal one. At most half of the time for its own work.
const FLIGHT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a store may take before the question is embedded at the same time.
const EMBED_AFTER: Duration = Duration::from_millis(2);

/// A kept answer, with what its reply has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The answer.
    pub answer: String,
    /// Its sources for the history and `/query`, as a JSON list.
    pub sources: String,
    /// Its citations, as a JSON list. None if the reply has none.
    pub citations: Option<String>,
    /// The ids of the chunks in the prompt.
    pub node_ids: Vec<String>,
    /// The chunks in the prompt, as interactions refer to them.
    #[serde(default)]
    pub chunk_references: Vec<String>,
    /// How many sources it cites. None if that was not checked, or an older version kept it.
    #[serde(default)]
    pub citation_count: Option<u64>,
    /// How many chunks were found. None if an older version kept it.
    #[serde(default)]
    pub retrieval_count: Option<u64>,
    /// The vector of the question.
    pub vector: Vec<f32>,
}

/// What the cache says about a question.
pub(super) enum Cached {
    /// The stage is off.
    Off,
    /// The request does not use it.
    Bypass,
    /// The answer is known.
    Hit(Arc<Entry>, Keys),
    /// The answer is not known.
    Miss(Box<Ticket>),
}

impl Cached {
    /// The value of the header `x-cache`, and the outcome of the stage.
    pub fn label(&self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Bypass => Some("bypass"),
            Self::Hit(..) => Some("hit"),
            Self::Miss(_) => Some("miss"),
        }
    }
}

/// The keys of a question.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    /// The key of its answer.
    pub answer: CacheKey,
    /// The key under which a down vote is remembered, whatever the documents are.
    pub down_vote: CacheKey,
}

impl Keys {
    /// Both in one text, for the record of the answer. Down votes find them there.
    pub fn text(&self) -> String {
        format!("{} {}", self.answer, self.down_vote)
    }

    /// Reads what [`Self::text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (answer, down_vote) = text.split_once(' ')?;
        Some(Self { answer: answer.parse().ok()?, down_vote: down_vote.parse().ok()? })
    }
}

/// Looks up the question, and rewrites it if its answer is not known. Without a history, the question is its own key, so
/// it is looked up at once. Otherwise it is known after it was rewritten.
///
/// # Errors
///
/// When the server is shutting down, or the queue of chats is full.
pub(super) async fn cached_or_rewritten(
    app: &App,
    asked: &Arc<Asked>,
    side_tasks: &SideTasks,
    permit: &mut Option<Permit>,
) -> Result<(Cached, Rewritten), ApiError> {
    let is_on = asked.uses_cache(app);
    if is_on && asked.has_no_history() {
        // Without a history, it is not condensed.
        let is_rewritten = asked.on.reformulate && side_tasks.are_possible();
        let (cached, embedded) = in_span("cache", first_question(app, asked, is_rewritten, permit)).await?;
        return match cached {
            hit @ Cached::Hit(..) => Ok((hit, Rewritten::default())),
            cached => Ok((cached, Rewritten { embedded, ..rewrite(app, asked, asked.on, side_tasks).await? })),
        };
    }
    let rewritten = rewrite(app, asked, asked.on, side_tasks).await?;
    let cached = match &rewritten.condensed {
        Some(question) if is_on => in_span("cache", later_question(app, asked, question)).await,
        _ if app.settings.cache.enabled && asked.way.endpoint.is_conversational() => Cached::Bypass,
        _ => Cached::Off,
    };
    Ok((cached, rewritten))
}

/// Looks up a question that needs no history. Equal questions wait until one of them is answered.
async fn first_question(
    app: &App,
    asked: &Arc<Asked>,
    is_rewritten: bool,
    permit: &mut Option<Permit>,
) -> Result<(Cached, Option<Embedded>), ApiError> {
    let (keys, cache) = match keyed(app, asked, &asked.turn.user_prompt).await {
        Ok(keyed) => keyed,
        Err(cached) => return Ok((told(cached), None)),
    };
    let (found, embedded) = match cache.answers.look_up_now(&keys.answer) {
        Some(found) => (found, None),
        None if is_rewritten => (cache.answers.look_up(&keys.answer).await, None),
        None => beside_embedding(app, asked, cache.answers.look_up(&keys.answer)).await,
    };
    let epoch = match known(found) {
        Ok(entry) => return Ok((told(Cached::Hit(entry, keys)), None)),
        Err(epoch) => epoch,
    };
    let leader = match cache.flights.join(&keys.answer, epoch) {
        Flight::Leader(leader) => Some(leader),
        Flight::Follower(follower) => {
            // Those who wait take no turn from other chats.
            drop(permit.take());
            let landed = follower.landed(Instant::now() + flight_timeout(app)).await;
            if let Landed::Answer(entry) = landed {
                return Ok((told(Cached::Hit(entry, keys)), None));
            }
            *permit = Some(app.admission.turn(Work::Chat).await?);
            if let Landed::Lead(leader) = landed { Some(leader) } else { None }
        }
    };
    // The answer may have been kept between the look-up and the flight.
    if leader.is_some()
        && let Ok(entry) = known(cache.answers.look_up_again(&keys.answer).await)
    {
        leader.into_iter().for_each(|leader| leader.done(Some(Arc::clone(&entry))));
        return Ok((told(Cached::Hit(entry, keys)), None));
    }
    Ok((told(Cached::Miss(Box::new(Ticket::new(app, cache, keys, epoch, leader)))), embedded))
}

/// Looks up a question that was rewritten with its history. Its own answer is not kept, so no request waits for it.
async fn later_question(app: &App, asked: &Asked, question: &str) -> Cached {
    let (keys, cache) = match keyed(app, asked, question).await {
        Ok(keyed) => keyed,
        Err(cached) => return told(cached),
    };
    told(match known(cache.answers.look_up(&keys.answer).await) {
        Ok(entry) => Cached::Hit(entry, keys),
        Err(epoch) => Cached::Miss(Box::new(Ticket::new(app, cache, keys, epoch, None))),
    })
}

/// The outcome of the stage, which becomes that of its span.
fn told(cached: Cached) -> Cached {
    cached.label().into_iter().for_each(|label| Span::current().ended_with(label));
    cached
}

/// The keys of a question and the cache, or why there are none.
async fn keyed(app: &App, asked: &Asked, question: &str) -> Result<(Keys, Arc<AnswerCache>), Cached> {
    let cache = app.loaded().ok().and_then(|loaded| loaded.stores.cache()).ok_or(Cached::Off)?;
    Ok((keys(app, asked, question).await.ok_or(Cached::Bypass)?, Arc::clone(cache)))
}

/// The answer that was found. Else the epoch of the look-up, if it did not fail.
fn known(found: LookUp) -> Result<Arc<Entry>, Option<Epoch>> {
    match found {
        LookUp::Hit(bytes) => entry(&bytes).ok_or(None),
        LookUp::Miss(epoch) => Err(Some(epoch)),
        LookUp::Failed => Err(None),
    }
}

/// Waits for a look-up. If the store is slow, the question is embedded at the same time. A known answer does not wait
/// for that.
async fn beside_embedding(
    app: &App,
    asked: &Arc<Asked>,
    looking_up: impl Future<Output = LookUp>,
) -> (LookUp, Option<Embedded>) {
    let mut looking_up = pin!(looking_up);
    if let Ok(found) = timeout(EMBED_AFTER, &mut looking_up).await {
        return (found, None);
    }
    let mut embedding = pin!(Embedded::of(app, asked, &asked.turn.user_prompt));
    tokio::select! {
        biased;
        found = &mut looking_up => match found {
            hit @ LookUp::Hit(_) => (hit, None),
            // A failure is met again, and told, where the question is needed.
            found => (found, embedding.await.ok()),
        },
        embedded = &mut embedding => (looking_up.await, embedded.ok()),
    }
}

fn flight_timeout(app: &App) -> Duration {
    FLIGHT_TIMEOUT.min(Duration::from_secs(app.settings.limits.read_timeout_seconds) / 2)
}

fn entry(bytes: &[u8]) -> Option<Arc<Entry>> {
    serde_json::from_slice(bytes).ok().map(Arc::new)
}

/// The keys of a question. None if the state of the index cannot be read.
async fn keys(app: &App, asked: &Asked, question: &str) -> Option<Keys> {
    let (store_id, changes) = asked.index.version().await.ok()??;
    let store_id = store_id.to_string();
    let request = &asked.request;
    let options = format!("{:?} {:?} {:?}", request.metadata_filter, asked.on, asked.way.top_k);
    let parts = KeyParts {
        question,
        index_name: asked.index.name(),
        store_id: &store_id,
        changes,
        model: asked.served.name.as_deref().unwrap_or_default(),
        endpoint: asked.way.endpoint.label(),
        options: options.as_bytes(),
        settings: &app.settings_fingerprint,
        guardrails: asked.policy.as_ref().map_or("", |policy| policy.id()),
    };
    let down_vote = KeyParts { store_id: "down vote", changes: 0, model: "", options: b"", settings: "", ..parts };
    Some(Keys { answer: CacheKey::new(&parts), down_vote: CacheKey::new(&KeyParts { guardrails: "", ..down_vote }) })
}

/// Forgets an answer that got a down vote, and remembers the vote. `keys` are those of the answer's record.
pub(crate) async fn voted_down(cache: &AnswerCache, keys: &str) {
    let Some(keys) = Keys::parse(keys) else { return };
    let removed = cache.answers.remove(&keys.answer).await;
    let remembered = match cache.answers.look_up_again(&keys.down_vote).await {
        LookUp::Miss(epoch) => {
            let vote = CachedAnswer { value: b"down".to_vec(), confidence: 0.0 };
            cache.answers.store(&keys.down_vote, epoch, &vote).await
        }
        LookUp::Hit(_) | LookUp::Failed => Ok(true),
    };
    for error in [removed.err(), remembered.err()].into_iter().flatten() {
        warn!(kind = error.kind(), reason = error.for_log(), "a down vote did not reach the cache");
    }
}

/// Forgets that an answer got a down vote, after another vote or none has taken its place. One of another voter still
/// holds, because the votes are asked, too, before an answer is kept.
pub(crate) async fn down_vote_withdrawn(cache: &AnswerCache, keys: &str) {
    let Some(keys) = Keys::parse(keys) else { return };
    // To remove what is not there could purge the index.
    if let LookUp::Hit(_) = cache.answers.look_up_again(&keys.down_vote).await
        && let Err(error) = cache.answers.remove(&keys.down_vote).await
    {
        warn!(kind = error.kind(), reason = error.for_log(), "a withdrawn down vote is still in the cache");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_an_older_version_is_read() {
        let old = br#"{"answer":"So.","sources":"[]","citations":null,"node_ids":["n"],"vector":[0.5]}"#;
        let old = entry(old).unwrap();
        assert_eq!((old.citation_count, old.retrieval_count), (None, None));
        let new = Entry { citation_count: Some(1), retrieval_count: Some(9), ..(*old).clone() };
        assert_eq!(*entry(&serde_json::to_vec(&new).unwrap()).unwrap(), new);
    }

    #[test]
    fn keys_are_read_as_they_were_written() {
        let parts = KeyParts {
            question: "Why?",
            index_name: "docs",
            store_id: "s",
            changes: 1,
            model: "m",
            endpoint: "chat",
            options: b"",
            settings: "",
            guardrails: "",
        };
        let keys = Keys { answer: CacheKey::new(&parts), down_vote: CacheKey::new(&KeyParts { changes: 0, ..parts }) };
        let read = Keys::parse(&keys.text()).unwrap();
        assert_eq!((read.answer == keys.answer, read.down_vote == keys.down_vote), (true, true));
        for broken in ["", "docs:00", "docs:zz docs:zz"] {
            assert!(Keys::parse(broken).is_none(), "{broken}");
        }
    }
}
