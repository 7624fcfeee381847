//! Memory of processes.

use anyhow::Context as _;

/// Memory of a process in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Current resident memory (VmRSS).
    pub resident: u64,
    /// Peak resident memory (VmHWM).
    pub peak: u64,
}

/// Measures the peak memory of a process above its idle memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryWatch {
    pid: u32,
    idle: u64,
}

impl MemoryWatch {
    /// Takes the current resident memory as idle memory.
    ///
    /// # Errors
    ///
    /// If the process does not exist.
    pub fn begin(pid: u32) -> anyhow::Result<Self> {
        Ok(Self { pid, idle: of_process(pid)?.resident })
    }

    /// Resets the peak to the current resident memory.
    ///
    /// # Errors
    ///
    /// If the process belongs to another user or does not exist.
    pub fn reset_peak(&self) -> anyhow::Result<()> {
        let path = format!("/proc/{}/clear_refs", self.pid);
        std::fs::write(&path, RESET_PEAK).with_context(|| path.clone())
    }

    /// Peak memory since [`Self::reset_peak`] above the idle memory, in bytes.
    ///
    /// # Errors
    ///
    /// If the process does not exist.
    pub fn peak_above_idle(&self) -> anyhow::Result<u64> {
        Ok(of_process(self.pid)?.peak.saturating_sub(self.idle))
    }
}

/// Value for `clear_refs` that resets the peak: see proc(5).
const RESET_PEAK: &str = "5";

/// Memory of a process.
///
/// # Errors
///
/// If the process does not exist.
pub fn of_process(pid: u32) -> anyhow::Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    parse(&text).with_context(|| format!("{path} lacks VmRSS or VmHWM"))
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

    #[test]
    fn the_peak_is_measured_and_reset() {
        const BYTES: usize = 256 << 20;
        let watch = MemoryWatch::begin(std::process::id()).unwrap();
        watch.reset_peak().unwrap();
        drop(std::hint::black_box(vec![7_u8; BYTES]));
        assert!(watch.peak_above_idle().unwrap() > BYTES as u64 / 2);
        watch.reset_peak().unwrap();
        assert!(watch.peak_above_idle().unwrap() < BYTES as u64 / 2);
    }
}
