use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::json;

use crate::{cpu, memory};

/// How often the memory of the job is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// No synchronisation takes so long.
const TIMEOUT: Duration = Duration::from_secs(900);

/// One synchronisation of a folder.
pub struct Job<'a> {
    pub program: &'a Path,
    pub server: SocketAddr,
    pub index: &'a str,
    pub source: &'a str,
    pub folder: &'a Path,
}

/// What it cost.
pub struct Measured {
    /// Processor time: the job's own, that of what it has started, and the server's meanwhile.
    pub cpu: Duration,
    /// How long it took.
    pub took: Duration,
    /// The most memory that the job had together with what it has started.
    pub peak_bytes: u64,
}

impl Job<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// When it fails, with its log.
    pub fn run(&self, folder: &Path, server: u32) -> anyhow::Result<Measured> {
        let (task, log) = (folder.join("task.yaml"), folder.join("sync.log"));
        fs::write(&task, self.task().to_string())?;
        let before = cpu::of_ended_children()? + cpu::of_process(server)?;
        let started = Instant::now();
        let mut command = Command::new(self.program);
        command.args(["sync", "--task"]).arg(&task).arg("--work-folder").arg(folder);
        let mut child = command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?).spawn()?;
        let mut peak_bytes = 0;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if started.elapsed() > TIMEOUT {
                child.kill()?;
                bail!("the synchronisation takes longer than {} s", TIMEOUT.as_secs());
            }
            peak_bytes = peak_bytes.max(resident(child.id()));
            thread::sleep(LOOK);
        };
        ensure!(status.success(), "the synchronisation ended with {status}: {}", fs::read_to_string(&log)?);
        let after = cpu::of_ended_children()? + cpu::of_process(server)?;
        let cpu = after.checked_sub(before).context("processor time went backwards")?;
        Ok(Measured { cpu, took: started.elapsed(), peak_bytes })
    }

    fn task(&self) -> serde_json::Value {
        json!({
            "server": format!("http://{}", self.server),
            "index": self.index,
            "owner": "bench",
            "syncId": self.source,
            "sources": [{"name": self.source, "origin": {"folder": {"path": self.folder}}}],
        })
    }
}

/// A process that has just ended has nothing.
fn resident(pid: u32) -> u64 {
    let processes = cpu::children(pid).unwrap_or_default().into_iter().chain([pid]);
    processes.filter_map(|process| memory::of_process(process).ok()).map(|memory| memory.resident).sum()
}
