use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{BackendError, StorageBackend};

/// A storage that sets a flag when an operation fails. redb reports a failure only to the caller of the operation.
#[derive(Debug)]
pub(super) struct FailureFlag<S> {
    storage: S,
    has_failed: Arc<AtomicBool>,
}

impl<S> FailureFlag<S> {
    /// `has_failed` becomes true when an operation fails.
    pub(super) fn new(storage: S, has_failed: Arc<AtomicBool>) -> Self {
        Self { storage, has_failed }
    }

    fn recorded<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|_| self.has_failed.store(true, Ordering::Release))
    }
}

impl<S: StorageBackend> StorageBackend for FailureFlag<S> {
    fn len(&self) -> io::Result<u64> {
        self.recorded(self.storage.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.recorded(self.storage.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.recorded(self.storage.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.recorded(self.storage.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.recorded(self.storage.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.storage.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.storage.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.storage.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.storage.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.storage.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.storage.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.storage.query_lock_range(start, end)
    }
}
