//! Turns of conversations whose answers are not finished yet.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;
use ragengine_errors::Logged as _;
use ragengine_stores::Turn;
use tokio::time::{sleep, timeout};
use tracing::warn;

use crate::converse::Place;

/// How long a reply waits until its turn is kept.
const KEEPING_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the end of the process waits for turns.
const STOPPING_TIMEOUT: Duration = Duration::from_secs(2);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The finish reason of an answer that is whole.
const WHOLE: &str = "stop";

/// The longest list of passages that is kept with a turn, in bytes. A longer one is left out.
const MAX_SOURCES_BYTES: usize = 1 << 20;

/// All turns whose answers are not finished, so that the server can keep them when it stops.
#[derive(Default)]
pub struct OpenTurns {
    open: Mutex<HashMap<u64, Slot>>,
    next: AtomicU64,
    /// Turns that are being written to the store.
    keeping: AtomicUsize,
}

/// An open turn. Empty once it is kept or forgotten.
type Slot = Arc<Mutex<Option<Box<Open>>>>;

/// A turn whose answer is not finished. If it is dropped before, the client has left: it is kept as far as it got.
pub(super) struct OpenTurn {
    all: Arc<OpenTurns>,
    id: u64,
    slot: Slot,
}

struct Open {
    place: Place,
    turn: Turn,
    started: Instant,
}

impl OpenTurns {
    /// Keeps all open turns as far as they got, and waits for those that are being kept. Call it when the process ends.
    pub async fn keep_all(self: &Arc<Self>) {
        let open: Vec<Slot> = self.open.lock().values().cloned().collect();
        for open in open.into_iter().filter_map(|slot| slot.lock().take()) {
            drop(tokio::spawn(Counted::new(self).keep(cut_off(open))));
        }
        let kept = async {
            while self.keeping.load(Ordering::Acquire) > 0 {
                sleep(POLL_INTERVAL).await;
            }
        };
        if timeout(STOPPING_TIMEOUT, kept).await.is_err() {
            warn!("stopped before all turns of conversations were kept");
        }
    }
}

/// Counts a turn that is being kept. Made before its task, so that the end of the process waits for it.
struct Counted(Arc<OpenTurns>);

impl Counted {
    fn new(turns: &Arc<OpenTurns>) -> Self {
        turns.keeping.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(turns))
    }

    /// Keeps a turn. Returns whether that succeeded, or the session was cleared since its question.
    async fn keep(self, mut open: Box<Open>) -> bool {
        open.turn.response_time_ms = u64::try_from(open.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Open { place: Place { store, key, .. }, turn, .. } = *open;
        match store.add(&key, turn).await {
            Ok(_) => true,
            Err(error) => {
                warn!(kind = error.kind(), reason = error.for_log(), "turn not kept: later questions do not know it");
                false
            }
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.keeping.fetch_sub(1, Ordering::AcqRel);
    }
}

fn cut_off(mut open: Box<Open>) -> Box<Open> {
    open.turn.complete = false;
    open
}

impl OpenTurn {
    /// Begins the turn of a question.
    pub fn begin(place: Place, question: String, model: Option<String>, answer_id: Option<String>) -> Self {
        let turn = Turn {
            seq: place.seq,
            question,
            sources: "[]".to_owned(),
            model,
            answer_id,
            created_at_ms: Timestamp::now().as_millisecond(),
            ..Turn::default()
        };
        let all = Arc::clone(&place.open_turns);
        let slot = Arc::new(Mutex::new(Some(Box::new(Open { place, turn, started: Instant::now() }))));
        let id = all.next.fetch_add(1, Ordering::Relaxed);
        all.open.lock().insert(id, Arc::clone(&slot));
        Self { all, id, slot }
    }

    /// The passages in the prompt, as a JSON list.
    pub fn has_sources(&self, sources: &str) {
        if let (Some(open), true) = (&mut *self.slot.lock(), sources.len() <= MAX_SOURCES_BYTES) {
            sources.clone_into(&mut open.turn.sources);
        }
    }

    /// Adds a part of the answer as it is sent, and why the answer ended.
    pub fn hear_text(&self, text: &str, finish_reason: Option<&str>) {
        if let Some(Open { turn, .. }) = self.slot.lock().as_deref_mut() {
            turn.answer.push_str(text);
            turn.complete = turn.complete || finish_reason == Some(WHOLE);
        }
    }

    /// The answer has failed. What was sent of it is kept in the background.
    pub fn failed(self) {
        let mut slot = self.slot.lock();
        *slot = slot.take().filter(|open| !open.turn.answer.is_empty());
    }

    /// Keeps the turn of a finished answer. Returns whether that succeeded in time.
    pub async fn end(self) -> bool {
        let Some(open) = self.slot.lock().take() else { return true };
        // A separate task, so that a client that disconnects does not stop it.
        let keeping = tokio::spawn(Counted::new(&self.all).keep(open));
        match timeout(KEEPING_TIMEOUT, keeping).await {
            Ok(kept) => kept.unwrap_or(false),
            Err(_) => {
                warn!(kind = "timeout", "turn not kept in time");
                false
            }
        }
    }
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        self.all.open.lock().remove(&self.id);
        if let (Some(open), Ok(runtime)) = (self.slot.lock().take(), tokio::runtime::Handle::try_current()) {
            drop(runtime.spawn(Counted::new(&self.all).keep(cut_off(open))));
        }
    }
}
