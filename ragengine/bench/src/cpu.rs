//! Processor time, as Linux counts it: see proc_pid_stat(5).

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use rustix::time::{ClockId, clock_gettime};

/// Ticks in which /proc shows a process's time: USER_HZ, which is 100 on every architecture that the server runs on.
const TICKS_PER_SECOND: u32 = 100;

/// What is needed of a line of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// User and system time of all threads, those that have ended included.
    ticks: u32,
    /// The same of child processes that have ended, and of theirs.
    ticks_of_ended_children: u32,
}

/// Processor time of a process so far, to 10 ms.
///
/// # Errors
///
/// When there is no such process.
pub fn of_process(pid: u32) -> anyhow::Result<Duration> {
    Ok(seconds(stat(pid)?.ticks.into()))
}

/// Processor time of all of these processes so far, to 10 ms each.
///
/// # Errors
///
/// When there is no such process.
pub fn of_processes(pids: &[u32]) -> anyhow::Result<Duration> {
    pids.iter().map(|&pid| of_process(pid)).sum()
}

/// Processor time of this process so far, with its child processes that have ended.
///
/// # Errors
///
/// When /proc cannot be read.
pub fn of_this_process_and_ended_children() -> anyhow::Result<Duration> {
    let stat = stat(std::process::id())?;
    Ok(seconds((stat.ticks + stat.ticks_of_ended_children).into()))
}

/// Processor time of the calling thread so far, to the nanosecond.
pub fn of_this_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Processor time of child processes that have ended, and of theirs.
///
/// # Errors
///
/// When /proc cannot be read.
pub fn of_ended_children() -> anyhow::Result<Duration> {
    Ok(seconds(stat(std::process::id())?.ticks_of_ended_children.into()))
}

/// Processor time that all processes of the machine have had so far, and that others than this machine took from it (steal).
///
/// # Errors
///
/// When /proc cannot be read.
pub fn of_machine() -> anyhow::Result<Duration> {
    let path = "/proc/stat";
    let text = fs::read_to_string(path).context(path)?;
    let ticks = parse_machine(&text).with_context(|| format!("{path} is not understood"))?;
    Ok(seconds(ticks))
}

/// The processes that a process has started and that still run.
///
/// # Errors
///
/// When /proc cannot be read.
pub fn children(pid: u32) -> anyhow::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("/proc")?;
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // One that has ended meanwhile is not one of them.
    Ok(processes.filter(|&process| stat(process).is_ok_and(|stat| stat.parent == pid)).collect())
}

fn seconds(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / u64::from(TICKS_PER_SECOND))
}

fn stat(pid: u32) -> anyhow::Result<Stat> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse(&text).with_context(|| format!("{path} is not understood: {text}"))
}

/// The command's name stands in parentheses, and may have spaces and parentheses itself: the last one ends it.
fn parse(text: &str) -> Option<Stat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Numbered from 1 with the name as the second: 4 is the parent, 14 and 15 are user and system time, 16 and 17 the children's.
    let field = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
    Some(Stat { parent: field(4)?, ticks: field(14)? + field(15)?, ticks_of_ended_children: field(16)? + field(17)? })
}

/// The line of all processors: user, nice, system, idle, waiting for disks, interrupts, soft interrupts, steal.
fn parse_machine(text: &str) -> Option<u64> {
    let fields = text.lines().find_map(|line| line.strip_prefix("cpu "))?.split_whitespace();
    let fields = fields.map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some([0, 1, 2, 5, 6, 7].iter().filter_map(|&field| fields.get(field)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_have_any_name() {
        let rest = "S 17 4242 4242 0 -1 4194304 1021 0 3 0 250 31 7 9 20 0 5 0 8914 1574952 55000";
        for name in ["nginx", "tokio worker", "a) R 1 (b", ") ( )", ""] {
            let line = format!("4242 ({name}) {rest}\n");
            assert_eq!(parse(&line), Some(Stat { parent: 17, ticks: 281, ticks_of_ended_children: 16 }), "{line}");
        }
    }

    #[test]
    fn half_a_line_is_not_understood() {
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
    fn a_thread_that_computes_takes_time() {
        let before = of_this_thread();
        let sum: u64 = (0..1000_u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && of_this_thread() > before);
        assert!(of_process(std::process::id()).is_ok());
    }
}
