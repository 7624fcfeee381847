//! The session of a question.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ragengine_errors::Logged as _;
use ragengine_pipeline::history::PastTurn;
use ragengine_pipeline::openai::MAX_MESSAGES;
use ragengine_stores::{Joined, Newest, SessionKey, SessionStore, StoreError, Turn};
use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tracing::{info, warn};
use uuid::Uuid;

use super::Place;
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;

/// The bytes of texts that are read for a prompt at most: for each token of the window, and in all.
const BYTES_PER_TOKEN: u64 = 8;
const MAX_BYTES: u64 = 4 << 20;

/// The least tokens of a turn, with its template.
const TOKENS_PER_TURN: u64 = 16;

/// The turns of a session that are shown at most. The stores keep no more.
const MAX_TURNS: usize = 10_000;

/// The turns that are read for a prompt at most: each is two messages of the request, and the question is another one.
const MAX_PROMPT_TURNS: usize = (MAX_MESSAGES - 1) / 2;

/// The turns of a history that is shown, and the bytes of their texts and sources, at most.
const SHOWN: Newest = Newest { turns: MAX_TURNS, bytes: 8 << 20 };

/// How long showing a history waits for those that are being read. It holds a turn of all reads meanwhile.
const SHOWING_WAIT: Duration = Duration::from_secs(1);

/// The id of a session: 8 to 128 letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// The id that a caller sent, or a new one.
    ///
    /// # Errors
    ///
    /// [`ApiError::InvalidRequest`] when it has another form.
    pub fn of(sent: Option<&str>) -> Result<Self, ApiError> {
        let Some(sent) = sent else { return Ok(Self(Uuid::new_v4().to_string())) };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (8..=128).contains(&sent.len()) && sent.bytes().all(is_allowed) {
            return Ok(Self(sent.to_owned()));
        }
        Err(ApiError::InvalidRequest("session_id must be 8 to 128 letters, digits, '-' and '_'.".to_owned()))
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first characters, which are in the log.
    pub fn beginning(&self) -> &str {
        &self.0[..6]
    }

    /// The key of the caller's session with this id.
    pub fn key(&self, caller: &Caller) -> SessionKey {
        SessionKey { owner: caller.owner().to_owned(), id: self.0.clone() }
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A session that a question has joined.
pub(super) struct Session {
    /// The place of its turn.
    pub place: Place,
    /// The newest turns, oldest first.
    pub turns: Vec<PastTurn>,
}

/// Why a session could not be joined.
pub(super) struct Down(StoreError);

impl Down {
    /// The outcome of the stage.
    pub fn outcome(&self) -> &'static str {
        if matches!(self.0, StoreError::Timeout) { "timeout" } else { "failed" }
    }

    /// The question is refused.
    pub fn refused(self) -> ApiError {
        self.0.into()
    }

    /// The question is answered nevertheless.
    pub fn log(&self) {
        warn!(kind = self.0.kind(), reason = self.0.for_log(), "session not read: the answer is made without history");
    }
}

/// Joins the session: takes a number for the turn, and reads the newest turns.
pub(super) async fn join(app: &App, caller: &Caller, id: &SessionId, window_tokens: u64) -> Result<Session, Down> {
    let Ok(store) = store(app) else { return Err(Down(StoreError::Unavailable("not ready".to_owned()))) };
    let bytes = usize::try_from(window_tokens.saturating_mul(BYTES_PER_TOKEN).min(MAX_BYTES)).unwrap_or(usize::MAX);
    let key = id.key(caller);
    let joining = store.join(&key, Newest { turns: prompt_turns(window_tokens), bytes });
    let joined = timeout(app.stage_timeouts.session, joining).await.unwrap_or(Err(StoreError::Timeout));
    let Joined { seq, turns, is_new } = joined.map_err(Down)?;
    if is_new {
        info!("[CHAT_MEMORY] Created new memory for session: {}...", id.beginning());
    }
    let turns = turns.into_iter().map(|Turn { question, answer, .. }| PastTurn { question, answer });
    Ok(Session {
        turns: turns.collect(),
        place: Place { store: Arc::clone(store), key, seq, open_turns: Arc::clone(&app.open_turns) },
    })
}

/// The turns that are read for a prompt, given the window.
fn prompt_turns(window_tokens: u64) -> usize {
    usize::try_from(window_tokens / TOKENS_PER_TURN).unwrap_or(MAX_PROMPT_TURNS).clamp(1, MAX_PROMPT_TURNS)
}

/// The turns of a session that its history shows, oldest first.
///
/// # Errors
///
/// [`ApiError::Busy`], or the errors of the store.
pub async fn shown(app: &App, caller: &Caller, id: &SessionId) -> Result<Vec<Turn>, ApiError> {
    // A long history keeps the store busy, which questions need too.
    let _place = place(&app.history_reads).await?;
    Ok(store(app)?.history(&id.key(caller), SHOWN).await?)
}

/// A place among the histories that are read at the same time.
async fn place(reads: &Semaphore) -> Result<SemaphorePermit<'_>, ApiError> {
    let Ok(Ok(place)) = timeout(SHOWING_WAIT, reads.acquire()).await else {
        let words = "the server is busy: other conversations are being listed. Retry in a moment";
        return Err(ApiError::Busy(words.to_owned()));
    };
    Ok(place)
}

/// Clears a session: its turns go, also one that is being answered.
///
/// # Errors
///
/// The errors of the store.
pub async fn clear(app: &App, caller: &Caller, id: &SessionId) -> Result<(), ApiError> {
    Ok(store(app)?.clear(&id.key(caller)).await?)
}

fn store(app: &App) -> Result<&Arc<SessionStore>, ApiError> {
    Ok(app.loaded()?.stores.sessions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_of_any_window_is_a_request() {
        for (window_tokens, turns) in [(0, 1), (4096, 256), (79_984, 4_999), (1_000_000, 4_999), (u64::MAX, 4_999)] {
            assert_eq!(prompt_turns(window_tokens), turns, "{window_tokens}");
        }
        const { assert!(2 * MAX_PROMPT_TURNS < MAX_MESSAGES) };
    }

    #[test]
    fn an_id_has_a_safe_form() {
        for id in ["abc12345", "A-b_c-12", &"a".repeat(128)] {
            assert_eq!(SessionId::of(Some(id)).unwrap().to_string(), id);
        }
        for id in ["", "abc1234", "abc 12345", "abc/12345", "äbc12345", "abc12345\n", &"a".repeat(129)] {
            assert!(SessionId::of(Some(id)).is_err(), "{id:?}");
        }
        let made = SessionId::of(None).unwrap();
        assert_ne!(made, SessionId::of(None).unwrap());
        assert_eq!(SessionId::of(Some(&made.to_string())).unwrap(), made);
    }

    #[tokio::test(start_paused = true)]
    async fn a_history_that_waits_long_for_others_is_refused() {
        let reads = Semaphore::new(1);
        let held = place(&reads).await.unwrap();
        let refused = place(&reads).await.err().unwrap();
        assert!(matches!(&refused, ApiError::Busy(_)), "{refused}");
        drop(held);
        assert!(place(&reads).await.is_ok());
    }
}
