//! A process's memory.

use anyhow::Context as _;

/// Memory of a process in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// What is resident now (VmRSS).
    pub resident: u64,
    /// The most that ever was (VmHWM).
    pub peak: u64,
}

/// The memory of a process.
///
/// # Errors
///
/// When there is no such process.
pub fn of_process(pid: u32) -> anyhow::Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    parse(&text).with_context(|| format!("{path} does not tell the memory"))
}

fn parse(status: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    Some(Memory { resident: bytes("VmRSS:")?, peak: bytes("VmHWM:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_become_bytes() {
        let status = "Name:\tVmRSS: 7 kB\nVmPeak:\t  90 kB\nVmHWM:\t    2048 kB\nVmRSS:\t      12 kB\n";
        assert_eq!(parse(status), Some(Memory { resident: 12 << 10, peak: 2 << 20 }));
        assert_eq!(parse("VmRSS:\t 12 kB\n"), None);
        assert_eq!(parse("VmHWM:\t 2048 MB\nVmRSS:\t 12 kB\n"), None);
    }
}
