use std::fs::File;
use std::io::{self, Read, Seek};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A worker keeps no more memory than this between two files, in bytes: its parent needs memory too.
const MAX_KEPT_BYTES: u64 = 32 << 20;
/// What the kernel says of a process, in bytes.
const USUAL_STATUS_BYTES: usize = 4 << 10;
/// More than the kernel says of a process, in bytes: its groups are most of it.
const MAX_STATUS_BYTES: u64 = 1 << 20;

/// Bounds the memory of this process. Data is what counts, not addresses: the program itself, and what allocators only reserve, would otherwise use
/// up a bound that is meant for files.
#[derive(Debug)]
pub(super) struct MemoryBound {
    /// What the process had before the first file, in bytes.
    own_bytes: u64,
    /// What nobody may raise.
    hard: Option<u64>,
    /// Where the kernel says how much there is.
    status: File,
}

impl MemoryBound {
    /// Looks at the process as it is now, and forbids it to leave its memory on the disk when it ends.
    pub(super) fn of_this_process() -> io::Result<Self> {
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        let status = File::open("/proc/self/status")?;
        Ok(Self { own_bytes: current_bytes(&status)?, hard: getrlimit(Resource::Data).maximum, status })
    }

    /// Allows so much beside what the process had. An allocation that goes beyond fails, and ends the process.
    pub(super) fn set(&self, max_bytes: u64) -> io::Result<()> {
        let bytes = self.own_bytes.saturating_add(max_bytes).min(self.hard.unwrap_or(u64::MAX));
        Ok(setrlimit(Resource::Data, Rlimit { current: Some(bytes), maximum: self.hard })?)
    }

    /// Whether the process still has much of what earlier files needed. Allocators keep what they may need again.
    pub(super) fn is_much_kept(&self) -> io::Result<bool> {
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
    data_bytes(&text).ok_or_else(|| io::Error::other("/proc/self/status does not say how much data the process has"))
}

/// What `/proc/self/status` says of private memory that can be written.
fn data_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_a_process_is_in_its_status() {
        assert_eq!(data_bytes("VmPeak:\t 9 kB\nVmData:\t    1234 kB\nVmStk: 1 kB\n"), Some(1234 << 10));
        assert_eq!(data_bytes("VmPeak:\t 9 kB\n"), None);
    }

    #[test]
    fn much_is_what_is_far_beyond_the_own() {
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
