//! Processor time from Linux: see proc_pid_stat(5).

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use rustix::time::{ClockId, clock_gettime};

/// Unit of times in /proc: USER_HZ, which is 100 on all architectures that the server supports.
const TICKS_PER_SECOND: u32 = 100;

/// The fields of `/proc/PID/stat` that are used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// User and system time of all threads, including ended ones.
    ticks: u32,
    /// User and system time of ended child processes and their descendants.
    ticks_of_ended_children: u32,
}

/// Processor time of a process so far. Resolution: 10 ms.
///
/// # Errors
///
/// If the process does not exist.
pub fn of_process(pid: u32) -> anyhow::Result<Duration> {
    Ok(seconds(stat(pid)?.ticks.into()))
}

/// Sum of the processor times of processes so far. Resolution: 10 ms each.
///
/// # Errors
///
/// If a process does not exist.
pub fn of_processes(pids: &[u32]) -> anyhow::Result<Duration> {
    pids.iter().map(|&pid| of_process(pid)).sum()
}

/// Processor time of this process and its ended child processes so far.
///
/// # Errors
///
/// If /proc cannot be read.
pub fn of_this_process_and_ended_children() -> anyhow::Result<Duration> {
    let stat = stat(std::process::id())?;
    Ok(seconds((stat.ticks + stat.ticks_of_ended_children).into()))
}

/// Processor time of the calling thread so far. Resolution: 1 ns.
pub fn of_this_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Processor time of ended child processes and their descendants.
///
/// # Errors
///
/// If /proc cannot be read.
pub fn of_ended_children() -> anyhow::Result<Duration> {
    Ok(seconds(stat(std::process::id())?.ticks_of_ended_children.into()))
}

/// Processor time of all processes of the machine so far, plus the time used by other virtual machines (steal).
///
/// # Errors
///
/// If /proc cannot be read.
pub fn of_machine() -> anyhow::Result<Duration> {
    let path = "/proc/stat";
    let text = fs::read_to_string(path).context(path)?;
    let ticks = parse_machine(&text).with_context(|| format!("cannot parse {path}"))?;
    Ok(seconds(ticks))
}

/// Ids of the running child processes of a process.
///
/// # Errors
///
/// If /proc cannot be read.
pub fn children(pid: u32) -> anyhow::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("/proc")?;
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // Processes that have just ended have no stat file and are skipped.
    Ok(processes.filter(|&process| stat(process).is_ok_and(|stat| stat.parent == pid)).collect())
}

fn seconds(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / u64::from(TICKS_PER_SECOND))
}

fn stat(pid: u32) -> anyhow::Result<Stat> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse(&text).with_context(|| format!("cannot parse {path}: {text}"))
}

/// The name of the command is in parentheses and may contain spaces and parentheses, so the last parenthesis ends it.
fn parse(text: &str) -> Option<Stat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Fields are numbered from 1, the name is number 2. 4: parent; 14, 15: user and system time; 16, 17: those of
    // children.
    let field = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
    Some(Stat { parent: field(4)?, ticks: field(14)? + field(15)?, ticks_of_ended_children: field(16)? + field(17)? })
}

/// Sums the line of all processors except idle and iowait: user, nice, system, idle, iowait, irq, softirq, steal.
fn parse_machine(text: &str) -> Option<u64> {
    let fields = text.lines().find_map(|line| line.strip_prefix("cpu "))?.split_whitespace();
    let fields = fields.map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some([0, 1, 2, 5, 6, 7].iter().filter_map(|&field| fields.get(field)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_names_may_contain_any_characters() {
        let rest = "S 17 4242 4242 0 -1 4194304 1021 0 3 0 250 31 7 9 20 0 5 0 8914 1574952 55000";
        for name in ["nginx", "tokio worker", "a) R 1 (b", ") ( )", ""] {
            let line = format!("4242 ({name}) {rest}\n");
            assert_eq!(parse(&line), Some(Stat { parent: 17, ticks: 281, ticks_of_ended_children: 16 }), "{line}");
        }
    }

    #[test]
    fn incomplete_lines_are_rejected() {
        for line in ["", "4242 nginx S 17", "4242 (nginx) S 17 4242 4242", "4242 (nginx) S x 1 1 0 1 1 1 1 1 1 1 1 1"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn idle_time_is_not_counted() {
        assert_eq!(parse_machine("cpu  1 20 300 9 9 4000 50000 600000 7 7\ncpu0 1 1 1 1\n"), Some(654_321));
        assert_eq!(parse_machine("cpu  1 x 300"), None);
        assert_eq!(parse_machine("cpu0 1 1 1 1"), None);
    }

    #[test]
    fn computing_increases_the_time_of_the_thread() {
        let before = of_this_thread();
        let sum: u64 = (0..1000_u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && of_this_thread() > before);
        assert!(of_process(std::process::id()).is_ok());
    }
}
