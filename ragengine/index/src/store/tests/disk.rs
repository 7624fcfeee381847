//! A disk in memory whose operations fail and whose machine crashes.

use std::io::{Error, ErrorKind};
use std::sync::Arc;

use fastrand::Rng;
use parking_lot::Mutex;
use redb::StorageBackend;

/// The unit that is written atomically, even in a crash.
const SECTOR_BYTES: usize = 512;

/// A failure of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The machine crashes: no later operation works.
    Stop,
    /// The disk is full: no later write works.
    Full,
    /// One operation fails. Later ones work.
    Refusal,
    /// One operation is done but reported as failed.
    LateRefusal,
    /// One write is cut off. Later ones work.
    HalfWrite,
}

/// Which unsynced changes survive a crash.
#[derive(Debug, Clone, Copy)]
pub enum Survivors {
    None,
    All,
    /// Any of the changes, and any sectors of each.
    Some,
}

#[derive(Debug)]
enum PendingChange {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Debug, Default)]
struct State {
    /// The content after a crash.
    kept: Vec<u8>,
    /// The content that a reader sees.
    seen: Vec<u8>,
    /// The changes from `kept` to `seen`, except those that a failed sync has lost.
    pending: Vec<PendingChange>,
    operations: usize,
    fault: Option<(usize, Fault)>,
    was_hit: bool,
}

/// The disk. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

impl Disk {
    /// Makes an operation fail. 0 is the next one.
    pub fn fail_at(&self, operation: usize, fault: Fault) {
        let mut state = self.0.lock();
        state.fault = Some((state.operations + operation, fault));
    }

    /// Whether an operation has failed.
    pub fn was_hit(&self) -> bool {
        self.0.lock().was_hit
    }

    /// The disk after a crash, without faults.
    pub fn after_a_stop(&self, survivors: Survivors, random: &mut Rng) -> Self {
        let state = self.0.lock();
        let mut kept = state.kept.clone();
        for change in &state.pending {
            apply(&mut kept, change, survivors, random);
        }
        Self(Arc::new(Mutex::new(State { seen: kept.clone(), kept, ..State::default() })))
    }
}

fn apply(bytes: &mut Vec<u8>, change: &PendingChange, survivors: Survivors, random: &mut Rng) {
    let mut survives = || match survivors {
        Survivors::None => false,
        Survivors::All => true,
        Survivors::Some => random.bool(),
    };
    match change {
        PendingChange::Length(length) if survives() => bytes.resize(*length, 0),
        PendingChange::Length(_) => {}
        PendingChange::Write(offset, data) => {
            let mut start = 0;
            while start < data.len() {
                let end = data.len().min((offset + start) / SECTOR_BYTES * SECTOR_BYTES + SECTOR_BYTES - offset);
                if survives() {
                    bytes.resize(bytes.len().max(offset + end), 0);
                    bytes[offset + start..offset + end].copy_from_slice(&data[start..end]);
                }
                start = end;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Change,
    Sync,
}

impl State {
    /// Counts an operation and returns its fault, if any.
    fn begin(&mut self, kind: Kind) -> Result<(), Fault> {
        let operation = self.operations;
        self.operations += 1;
        let Some((at, fault)) = self.fault else { return Ok(()) };
        let fails = match fault {
            Fault::Stop => operation >= at,
            Fault::Full => operation >= at && kind == Kind::Change,
            Fault::Refusal | Fault::LateRefusal | Fault::HalfWrite => operation == at,
        };
        self.was_hit |= fails;
        if fails { Err(fault) } else { Ok(()) }
    }

    fn change(&mut self, change: PendingChange) {
        apply(&mut self.seen, &change, Survivors::All, &mut Rng::with_seed(0));
        self.pending.push(change);
    }
}

fn error(fault: Fault) -> Error {
    match fault {
        Fault::Full => Error::from(ErrorKind::StorageFull),
        Fault::Stop | Fault::Refusal | Fault::LateRefusal | Fault::HalfWrite => Error::other("input/output error"),
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, Error> {
        Ok(self.0.lock().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let mut state = self.0.lock();
        state.begin(Kind::Read).map_err(error)?;
        let offset = offset as usize;
        let bytes = state.seen.get(offset..offset + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), Error> {
        let mut state = self.0.lock();
        state.begin(Kind::Change).map_err(error)?;
        state.change(PendingChange::Length(length as usize));
        Ok(())
    }

    /// A failed sync loses its unsynced changes: a later success does not cover them.
    fn sync_data(&self) -> Result<(), Error> {
        let mut state = self.0.lock();
        let begun = state.begin(Kind::Sync);
        let is_done = matches!(begun, Ok(()) | Err(Fault::LateRefusal));
        let survivors = if is_done { Survivors::All } else { Survivors::Some };
        if begun != Err(Fault::Stop) {
            let mut random = Rng::with_seed(state.operations as u64);
            for change in std::mem::take(&mut state.pending) {
                apply(&mut state.kept, &change, survivors, &mut random);
            }
        }
        begun.map_err(error)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let mut state = self.0.lock();
        let begun = state.begin(Kind::Change);
        let written = match begun {
            Ok(()) | Err(Fault::LateRefusal) => data,
            Err(Fault::HalfWrite) => &data[..data.len() / 2],
            Err(Fault::Stop | Fault::Full | Fault::Refusal) => &[],
        };
        state.change(PendingChange::Write(offset as usize, written.to_vec()));
        begun.map_err(error)
    }
}
