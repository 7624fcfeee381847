//! Memory, open files and disk space of a server.

use std::fmt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// One sample of the resource usage.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    memory_bytes: u64,
    open_files: u64,
    disk_bytes: u64,
}

impl Usage {
    pub fn of(pid: u32, data: &Path) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = resident.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        let open_files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64;
        Self { memory_bytes: kilobytes << 10, open_files, disk_bytes: size_of(data) }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory_bytes, open_files, disk_bytes } = self;
        let (memory, disk) = (memory_bytes / MIB, disk_bytes / MIB);
        write!(formatter, "{memory:>5} MiB of memory  {open_files:>4} open files  {disk:>5} MiB on disk")
    }
}

/// The size of a folder in bytes. Files that disappear during the count are ignored.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Panics if the median of the last third of a run exceeds that of the first third by more than a tenth plus a fixed
/// allowance.
pub fn check(usage: &[Usage]) {
    let third = usage.len() / 3;
    let (first, last) = (&usage[..third], &usage[usage.len() - third..]);
    for (what, little, of) in [
        ("bytes of memory", 16 * MIB, (|usage| usage.memory_bytes) as fn(&Usage) -> u64),
        ("open files", 16, |usage| usage.open_files),
        ("bytes on disk", 16 * MIB, |usage| usage.disk_bytes),
    ] {
        let (first, last) = (median(first, of), median(last, of));
        let limit = first + first / 10 + little;
        eprintln!("{what}: {first} in the first third, {last} in the last, {limit} allowed");
        assert!(last <= limit, "{what} grow");
    }
}

fn median(usage: &[Usage], of: fn(&Usage) -> u64) -> u64 {
    let mut values: Vec<u64> = usage.iter().map(of).collect();
    values.sort_unstable();
    values[values.len() / 2]
}
