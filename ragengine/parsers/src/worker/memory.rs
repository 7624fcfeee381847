use std::fs::File;
use std::io::{self, Read, Seek};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A worker that holds more memory than this between two files is replaced, in bytes.
const MAX_KEPT_BYTES: u64 = 32 << 20;
/// Usual length of `/proc/self/status`, in bytes.
const USUAL_STATUS_BYTES: usize = 4 << 10;
/// Maximum length of `/proc/self/status`, in bytes. The list of groups is its longest part.
const MAX_STATUS_BYTES: u64 = 1 << 20;

/// Limits the memory of this process. The limit applies to data and not to address space, because the latter includes
/// the program and memory that allocators only reserve.
#[derive(Debug)]
pub(super) struct MemoryBound {
    /// Data of the process before the first file, in bytes.
    own_bytes: u64,
    /// The hard limit.
    hard: Option<u64>,
    /// The open `/proc/self/status`.
    status: File,
}

impl MemoryBound {
    /// Measures the current memory of the process, and disables core dumps.
    pub(super) fn of_this_process() -> io::Result<Self> {
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        let status = File::open("/proc/self/status")?;
        Ok(Self { own_bytes: current_bytes(&status)?, hard: getrlimit(Resource::Data).maximum, status })
    }

    /// Sets the limit to the initial memory plus `max_bytes`. An allocation beyond it fails and ends the process.
    pub(super) fn set(&self, max_bytes: u64) -> io::Result<()> {
        let bytes = self.own_bytes.saturating_add(max_bytes).min(self.hard.unwrap_or(u64::MAX));
        Ok(setrlimit(Resource::Data, Rlimit { current: Some(bytes), maximum: self.hard })?)
    }

    /// Whether the process still holds much memory from earlier files, which allocators keep for reuse.
    pub(super) fn holds_much(&self) -> io::Result<bool> {
        Ok(is_much(self.own_bytes, current_bytes(&self.status)?))
    }
}

fn is_much(own_bytes: u64, bytes: u64) -> bool {
    bytes > own_bytes.saturating_add(MAX_KEPT_BYTES)
}

fn current_bytes(mut status: &File) -> io::Result<u64> {
    status.rewind()?;
    let mut text = String::with_capacity(USUAL_STATUS_BYTES);
    status.take(MAX_STATUS_BYTES).read_to_string(&mut text)?;
    data_bytes(&text).ok_or_else(|| io::Error::other("/proc/self/status has no valid line VmData"))
}

/// Parses the private writable memory from `/proc/self/status`.
fn data_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_size_is_parsed_from_the_status() {
        assert_eq!(data_bytes("VmPeak:\t 9 kB\nVmData:\t    1234 kB\nVmStk: 1 kB\n"), Some(1234 << 10));
        assert_eq!(data_bytes("VmPeak:\t 9 kB\n"), None);
    }

    #[test]
    fn much_is_far_more_than_the_initial_memory() {
        for (own_bytes, bytes, expected) in [
            (10 << 20, 10 << 20, false),
            (10 << 20, 42 << 20, false),
            (10 << 20, 43 << 20, true),
            (10 << 20, 1 << 20, false),
        ] {
            assert_eq!(is_much(own_bytes, bytes), expected, "{own_bytes} {bytes}");
        }
    }
}
