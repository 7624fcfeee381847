//! A child process that is stopped when its owner is dropped: after the last measurement, an error, Ctrl-C or a panic.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Maximum time until a process exits after SIGTERM. Then it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

const POLL: Duration = Duration::from_millis(20);

/// A running child process.
pub struct ChildProcess {
    child: Child,
    name: &'static str,
}

impl ChildProcess {
    /// Starts a command with standard input and output closed. Standard error is configured by the command.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn start(name: &'static str, command: &mut Command) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self { child, name })
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Checks that the process still runs.
    ///
    /// # Errors
    ///
    /// If the process has exited, with its exit status.
    pub fn require_running(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} exited with {status}", self.name),
        }
    }

    /// Whether the process has exited successfully. `false` while it runs.
    ///
    /// # Errors
    ///
    /// If the process has failed, with its exit status.
    pub fn has_succeeded(&mut self) -> anyhow::Result<bool> {
        match self.child.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => bail!("{} exited with {status}", self.name),
        }
    }

    /// Sends SIGTERM, kills the process after a timeout, and waits for its exit. On SIGTERM, nginx also stops its
    /// workers.
    pub fn stop(&mut self) {
        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        let is_running = matches!(self.child.try_wait(), Ok(None));
        if let Some(pid) = pid.filter(|_| is_running) {
            let deadline = Instant::now() + STOP_TIMEOUT;
            let is_signalled = kill_process(pid, Signal::TERM).is_ok();
            while is_signalled && Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
                thread::sleep(POLL);
            }
        }
        // Errors mean that the process has already exited.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exists(pid: u32) -> bool {
        std::path::Path::new(&format!("/proc/{pid}")).exists()
    }

    #[test]
    fn dropping_the_owner_stops_the_process() {
        let mut child = ChildProcess::start("sleep", Command::new("sleep").arg("1000")).unwrap();
        let pid = child.id();
        child.require_running().unwrap();
        assert!(exists(pid));
        drop(child);
        assert!(!exists(pid));
    }

    #[test]
    fn success_is_reported_after_the_exit() {
        for (program, expected) in [("true", Some(true)), ("false", None)] {
            let mut child = ChildProcess::start("it", &mut Command::new(program)).unwrap();
            drop(child.child.wait());
            assert_eq!(child.has_succeeded().ok(), expected, "{program}");
        }
        let mut child = ChildProcess::start("sleep", Command::new("sleep").arg("1000")).unwrap();
        assert!(!child.has_succeeded().unwrap());
    }

    #[test]
    fn an_unexpected_exit_is_an_error() {
        let mut child = ChildProcess::start("false", &mut Command::new("false")).unwrap();
        drop(child.child.wait());
        assert!(child.require_running().unwrap_err().to_string().starts_with("false exited with"));
    }
}
