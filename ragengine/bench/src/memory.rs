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

/// Watches how much more memory a process takes than it had.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    pid: u32,
    idle: u64,
}

impl Watch {
    /// Begins with what the process has now.
    ///
    /// # Errors
    ///
    /// When there is no such process.
    pub fn begin(pid: u32) -> anyhow::Result<Self> {
        Ok(Self { pid, idle: of_process(pid)?.resident })
    }

    /// Forgets the most that there was.
    ///
    /// # Errors
    ///
    /// When the process is another user's, or is gone.
    pub fn forget_peak(&self) -> anyhow::Result<()> {
        let path = format!("/proc/{}/clear_refs", self.pid);
        std::fs::write(&path, RESET_PEAK).with_context(|| path.clone())
    }

    /// The most bytes that it has had since then beyond those in the beginning.
    ///
    /// # Errors
    ///
    /// When the process is gone.
    pub fn more_bytes_at_peak(&self) -> anyhow::Result<u64> {
        Ok(of_process(self.pid)?.peak.saturating_sub(self.idle))
    }
}

/// What the kernel takes for it: proc(5).
const RESET_PEAK: &str = "5";

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

    #[test]
    fn a_peak_is_seen_and_forgotten() {
        const BYTES: usize = 256 << 20;
        let watch = Watch::begin(std::process::id()).unwrap();
        watch.forget_peak().unwrap();
        drop(std::hint::black_box(vec![7_u8; BYTES]));
        assert!(watch.more_bytes_at_peak().unwrap() > BYTES as u64 / 2);
        watch.forget_peak().unwrap();
        assert!(watch.more_bytes_at_peak().unwrap() < BYTES as u64 / 2);
    }
}
