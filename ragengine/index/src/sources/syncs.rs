use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ragengine_client::wire::{PutSourceSync, SourceOwner, SourceSync, SyncPhase};

/// How long a synchronisation has its source after it was last heard of.
pub const LEASE: Duration = Duration::from_secs(60);

/// A moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// By the clock that nobody sets: leases end by it.
    pub monotonic: Instant,
    /// By the clock on the wall: people read it.
    pub wall: Timestamp,
}

impl Moment {
    /// This one.
    pub fn now() -> Self {
        Self { monotonic: Instant::now(), wall: Timestamp::now() }
    }

    /// As people read it, to the second.
    fn shown(&self) -> String {
        Timestamp::from_second(self.wall.as_second()).unwrap_or(self.wall).to_string()
    }

    fn after(&self, duration: Duration) -> Self {
        let wall = self.wall.saturating_add(duration).unwrap_or(self.wall);
        Self { monotonic: self.monotonic + duration, wall }
    }
}

/// Another synchronisation has the source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "source '{name}' is being synchronised by '{sync_id}' until {until}, and for longer when that goes on: try again then"
)]
pub struct Held {
    /// The source.
    pub name: String,
    /// Whose it is.
    pub sync_id: String,
    /// When its lease ends, by the server's clock (RFC 3339).
    pub until: String,
}

/// The synchronisations of an index's sources, the latest of each.
#[derive(Debug, Clone, Default)]
pub struct Syncs {
    sources: BTreeMap<String, State>,
}

#[derive(Debug, Clone)]
struct State {
    latest: SourceSync,
    /// What is on disk: the latest that has ended, or one before it that differs in nothing but its name and its times.
    saved: Option<SourceSync>,
    began: Instant,
    /// Until when nobody else may have the source, while it runs.
    lease: Option<Moment>,
}

/// What becomes of a source when something is said about it.
#[derive(Debug)]
pub struct Step {
    state: State,
    is_to_be_saved: bool,
    news: News,
}

/// What is worth a line in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It begins.
    Begins,
    /// It runs, or has ended before.
    GoesOn,
    /// It has ended.
    Ends {
        /// How long it took, as far as this server knows.
        elapsed: Duration,
    },
}

impl Step {
    /// What is known now.
    pub fn latest(&self) -> &SourceSync {
        &self.state.latest
    }

    /// What the disk is to have.
    pub fn saved(&self) -> Option<&SourceSync> {
        self.state.saved.as_ref()
    }

    /// Whether that has to be on disk first.
    pub fn is_to_be_saved(&self) -> bool {
        self.is_to_be_saved
    }

    /// What is worth a line in the log.
    pub fn news(&self) -> News {
        self.news
    }
}

impl Syncs {
    /// What the disk has: nothing of it runs.
    pub fn saved(saved: Vec<(String, SourceSync)>) -> Self {
        let began = Instant::now();
        let state = |sync: SourceSync| State { latest: sync.clone(), saved: Some(sync), began, lease: None };
        Self { sources: saved.into_iter().map(|(source, sync)| (source, state(sync))).collect() }
    }

    /// The sources that have a record.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// The latest synchronisation of a source.
    pub fn latest(&self, source: &str) -> Option<&SourceSync> {
        self.sources.get(source).map(|state| &state.latest)
    }

    /// Whose the sources are, as far as that was said.
    pub fn owners(&self) -> impl Iterator<Item = &SourceOwner> {
        self.sources.values().filter_map(|state| state.latest.owner.as_ref())
    }

    /// What the disk has of them.
    pub fn on_disk(&self) -> impl Iterator<Item = (&str, &SourceSync)> {
        self.sources.iter().filter_map(|(source, state)| Some((source.as_str(), state.saved.as_ref()?)))
    }

    /// Whether the disk has a record of this source.
    pub fn is_saved(&self, source: &str) -> bool {
        self.sources.get(source).is_some_and(|state| state.saved.is_some())
    }

    /// How many have their source now.
    pub fn running(&self, now: Instant) -> usize {
        self.sources.values().filter(|state| state.lease.is_some_and(|until| until.monotonic > now)).count()
    }

    /// What becomes of a source when this is said about it.
    ///
    /// # Errors
    ///
    /// [`Held`] when it is said by another synchronisation than the one that has the source.
    pub fn step(&self, source: &str, put: PutSourceSync, now: &Moment) -> Result<Step, Held> {
        let known = self.sources.get(source);
        if let Some(State { latest, lease: Some(until), .. }) = known
            && until.monotonic > now.monotonic
            && latest.sync_id != put.sync_id
        {
            return Err(Held { name: source.to_owned(), sync_id: latest.sync_id.clone(), until: until.shown() });
        }
        let same = known.filter(|known| known.latest.sync_id == put.sync_id);
        let is_running = put.phase == SyncPhase::Running;
        let was_running = same.is_some_and(|known| known.latest.phase == SyncPhase::Running);
        let began_before = same.filter(|_| was_running || !is_running);
        let news = match (is_running, was_running) {
            (true, false) => News::Begins,
            (false, false) if same.is_some() => News::GoesOn,
            (true, true) => News::GoesOn,
            (false, _) => News::Ends {
                elapsed: began_before.map_or(Duration::ZERO, |known| now.monotonic.duration_since(known.began)),
            },
        };
        let latest = record(
            put,
            known.map(|known| &known.latest),
            began_before.map_or_else(|| now.shown(), |known| known.latest.started_at.clone()),
            (!is_running).then(|| now.shown()),
        );
        let saved = known.and_then(|known| known.saved.as_ref());
        let ended = if is_running { owned(saved, &latest) } else { Some(latest.clone()) };
        let to_save = ended.filter(|ended| saved.is_none_or(|saved| outcome(saved) != outcome(ended)));
        let is_to_be_saved = to_save.is_some();
        let state = State {
            saved: to_save.or_else(|| saved.cloned()),
            latest,
            began: began_before.map_or(now.monotonic, |known| known.began),
            lease: is_running.then(|| now.after(LEASE)),
        };
        Ok(Step { state, is_to_be_saved, news })
    }

    /// Keeps what became of a source.
    pub fn take(&mut self, source: &str, step: Step) {
        self.sources.insert(source.to_owned(), step.state);
    }

    /// Forgets a source.
    pub fn forget(&mut self, source: &str) {
        self.sources.remove(source);
    }
}

/// While it runs, and when it has failed, the index still holds the revision before.
fn record(
    put: PutSourceSync,
    before: Option<&SourceSync>,
    started_at: String,
    finished_at: Option<String>,
) -> SourceSync {
    let revision = match put.phase {
        SyncPhase::Complete => put.revision,
        SyncPhase::Running | SyncPhase::Failed => put.revision.or_else(|| before?.revision.clone()),
    };
    SourceSync {
        sync_id: put.sync_id,
        phase: put.phase,
        owner: put.owner.or_else(|| before?.owner.clone()),
        revision,
        done: put.done,
        total: put.total,
        held_back: put.held_back,
        confirmation: put.confirmation,
        error_count: put.error_count,
        errors: put.errors,
        message: put.message,
        started_at,
        finished_at,
    }
}

/// What the disk is to have while a synchronisation runs, when the source has another owner by it: whose the documents are has to be known before
/// the first of them is there.
fn owned(saved: Option<&SourceSync>, running: &SourceSync) -> Option<SourceSync> {
    if running.owner.is_none() || saved.is_some_and(|saved| saved.owner == running.owner) {
        return None;
    }
    Some(match saved {
        Some(saved) => SourceSync { owner: running.owner.clone(), ..saved.clone() },
        None => SourceSync {
            phase: SyncPhase::Failed,
            message: Some("the server was started again before this synchronisation had ended".to_owned()),
            ..running.clone()
        },
    })
}

/// A record without what differs each time.
fn outcome(sync: &SourceSync) -> SourceSync {
    SourceSync { sync_id: String::new(), started_at: String::new(), finished_at: None, ..sync.clone() }
}

#[cfg(test)]
mod tests;
