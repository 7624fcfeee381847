use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ragengine_client::wire::{PutSourceSync, SourceOwner, SourceSync, SyncPhase};

/// How long a synchronisation keeps its source after its last report.
pub const LEASE: Duration = Duration::from_secs(60);

/// A point in time, by two clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The monotonic clock, for leases.
    pub monotonic: Instant,
    /// The wall clock, for people.
    pub wall: Timestamp,
}

impl Moment {
    /// The current time.
    pub fn now() -> Self {
        Self { monotonic: Instant::now(), wall: Timestamp::now() }
    }

    /// The wall clock's time in whole seconds.
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
    "source '{name}' is being synchronised by '{sync_id}' until {until}, or longer if that is still running: try again \
     later"
)]
pub struct Held {
    /// The name of the source.
    pub name: String,
    /// The id of the synchronisation that has it.
    pub sync_id: String,
    /// When its lease ends, by the server's clock (RFC 3339).
    pub until: String,
}

/// The latest synchronisation of each source of an index.
#[derive(Debug, Clone, Default)]
pub struct Syncs {
    sources: BTreeMap<String, State>,
}

#[derive(Debug, Clone)]
struct State {
    latest: SourceSync,
    /// The record on disk: the last finished synchronisation, or an earlier one that differs only in its id and times.
    saved: Option<SourceSync>,
    began: Instant,
    /// The lease on the source while it runs. No other synchronisation may use the source before it ends.
    lease: Option<Moment>,
}

/// The effect of a report on a source.
#[derive(Debug)]
pub struct SyncUpdate {
    state: State,
    is_to_be_saved: bool,
    event: SyncEvent,
}

/// The event of an update, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncEvent {
    /// The synchronisation started.
    Started,
    /// It is still running, or its end was reported before.
    Continued,
    /// It ended.
    Ended {
        /// How long it ran, as far as this server knows.
        elapsed: Duration,
    },
}

impl SyncUpdate {
    /// The new state.
    pub fn latest(&self) -> &SourceSync {
        &self.state.latest
    }

    /// The record that the disk should have.
    pub fn saved(&self) -> Option<&SourceSync> {
        self.state.saved.as_ref()
    }

    /// Whether the record must be written before the update is applied.
    pub fn is_to_be_saved(&self) -> bool {
        self.is_to_be_saved
    }

    /// The event, for the log.
    pub fn event(&self) -> SyncEvent {
        self.event
    }
}

/// The state of a source that several servers share.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSync {
    /// The latest synchronisation.
    pub latest: SourceSync,
    /// When it began, in milliseconds since 1970.
    pub began_ms: i64,
    /// When its lease ends, in milliseconds since 1970. None: it does not run.
    pub leased_until_ms: Option<i64>,
}

impl SyncUpdate {
    /// The new state, for other servers.
    pub fn shared(&self, now: &Moment) -> SharedSync {
        let milliseconds = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let elapsed = now.monotonic.saturating_duration_since(self.state.began);
        SharedSync {
            latest: self.state.latest.clone(),
            began_ms: now.wall.as_millisecond().saturating_sub(milliseconds(elapsed)),
            leased_until_ms: self.state.lease.map(|until| until.wall.as_millisecond()),
        }
    }
}

impl Syncs {
    /// The state that several servers share, where every record is saved.
    pub fn shared(shared: impl IntoIterator<Item = (String, SharedSync)>, now: &Moment) -> Self {
        let state = |sync: SharedSync| {
            let ago = u64::try_from(now.wall.as_millisecond().saturating_sub(sync.began_ms)).unwrap_or_default();
            let left = |until_ms: i64| u64::try_from(until_ms.saturating_sub(now.wall.as_millisecond())).ok();
            State {
                saved: Some(sync.latest.clone()),
                latest: sync.latest,
                began: now.monotonic.checked_sub(Duration::from_millis(ago)).unwrap_or(now.monotonic),
                lease: sync.leased_until_ms.and_then(left).map(|left| now.after(Duration::from_millis(left))),
            }
        };
        Self { sources: shared.into_iter().map(|(source, sync)| (source, state(sync))).collect() }
    }

    /// The state after a restart, from the records on disk. No synchronisation is running.
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

    /// The owners of the sources, where known.
    pub fn owners(&self) -> impl Iterator<Item = &SourceOwner> {
        self.sources.values().filter_map(|state| state.latest.owner.as_ref())
    }

    /// The records on disk.
    pub fn on_disk(&self) -> impl Iterator<Item = (&str, &SourceSync)> {
        self.sources.iter().filter_map(|(source, state)| Some((source.as_str(), state.saved.as_ref()?)))
    }

    /// Whether a record of this source is on disk.
    pub fn is_saved(&self, source: &str) -> bool {
        self.sources.get(source).is_some_and(|state| state.saved.is_some())
    }

    /// How many synchronisations are running.
    pub fn running(&self, now: Instant) -> usize {
        self.sources.values().filter(|state| state.lease.is_some_and(|until| until.monotonic > now)).count()
    }

    /// Computes the effect of a report on a source.
    ///
    /// # Errors
    ///
    /// [`Held`] if another synchronisation has the source.
    pub fn update(&self, source: &str, put: PutSourceSync, now: &Moment) -> Result<SyncUpdate, Held> {
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
        let event = match (is_running, was_running) {
            (true, false) => SyncEvent::Started,
            (false, false) if same.is_some() => SyncEvent::Continued,
            (true, true) => SyncEvent::Continued,
            (false, _) => SyncEvent::Ended {
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
        Ok(SyncUpdate { state, is_to_be_saved, event })
    }

    /// Applies an update.
    pub fn apply(&mut self, source: &str, update: SyncUpdate) {
        self.sources.insert(source.to_owned(), update.state);
    }

    /// Removes a source.
    pub fn forget(&mut self, source: &str) {
        self.sources.remove(source);
    }
}

/// Builds the record from a report. Until a synchronisation is complete, the index holds the previous revision.
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

/// The record to save while a synchronisation runs, if it changes the owner. The owner must be durable before the first
/// document is.
fn owned(saved: Option<&SourceSync>, running: &SourceSync) -> Option<SourceSync> {
    if running.owner.is_none() || saved.is_some_and(|saved| saved.owner == running.owner) {
        return None;
    }
    Some(match saved {
        Some(saved) => SourceSync { owner: running.owner.clone(), ..saved.clone() },
        None => SourceSync {
            phase: SyncPhase::Failed,
            message: Some("the server restarted before this synchronisation ended".to_owned()),
            ..running.clone()
        },
    })
}

/// A record without its id and times, for comparison.
fn outcome(sync: &SourceSync) -> SourceSync {
    SourceSync { sync_id: String::new(), started_at: String::new(), finished_at: None, ..sync.clone() }
}

#[cfg(test)]
mod tests;
