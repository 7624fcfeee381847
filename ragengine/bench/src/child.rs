//! A child process that ends when its owner does: after the last measurement, an error, Ctrl-C or a panic.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

/// How long a process may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);

const POLL: Duration = Duration::from_millis(20);

/// A running child process.
pub struct ChildProcess {
    child: Child,
    name: &'static str,
}

impl ChildProcess {
    /// Starts a command without input and output; what it writes to standard error goes where the command says.
    ///
    /// # Errors
    ///
    /// When there is no such program.
    pub fn start(name: &'static str, command: &mut Command) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("{} cannot be started", command.get_program().display()))?;
        Ok(Self { child, name })
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails when it has ended.
    ///
    /// # Errors
    ///
    /// With its exit code.
    pub fn require_running(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}", self.name),
        }
    }

    /// Whether it has ended without an error.
    ///
    /// # Errors
    ///
    /// With its exit code when that says that it failed.
    pub fn has_succeeded(&mut self) -> anyhow::Result<bool> {
        match self.child.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => bail!("{} ended with {status}", self.name),
        }
    }

    /// Asks it to end (nginx takes its workers along), insists after a while, and waits.
    pub fn stop(&mut self) {
        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        let is_running = matches!(self.child.try_wait(), Ok(None));
        if let Some(pid) = pid.filter(|_| is_running) {
            let deadline = Instant::now() + GRACE;
            let is_asked = kill_process(pid, Signal::TERM).is_ok();
            while is_asked && Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
                thread::sleep(POLL);
            }
        }
        // Of one that has ended there is nothing left to do, and nobody to tell when the system refuses.
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
    fn it_ends_with_its_owner() {
        let mut child = ChildProcess::start("sleep", Command::new("sleep").arg("1000")).unwrap();
        let pid = child.id();
        child.require_running().unwrap();
        assert!(exists(pid));
        drop(child);
        assert!(!exists(pid));
    }

    #[test]
    fn its_success_is_waited_for() {
        for (program, expected) in [("true", Some(true)), ("false", None)] {
            let mut child = ChildProcess::start("it", &mut Command::new(program)).unwrap();
            drop(child.child.wait());
            assert_eq!(child.has_succeeded().ok(), expected, "{program}");
        }
        let mut child = ChildProcess::start("sleep", Command::new("sleep").arg("1000")).unwrap();
        assert!(!child.has_succeeded().unwrap());
    }

    #[test]
    fn an_end_of_its_own_is_an_error() {
        let mut child = ChildProcess::start("false", &mut Command::new("false")).unwrap();
        drop(child.child.wait());
        assert!(child.require_running().unwrap_err().to_string().starts_with("false ended with"));
    }
}
