use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::json;

use crate::{cpu, memory};

/// Interval between two measurements of the memory.
const MEMORY_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum duration of a synchronisation.
const TIMEOUT: Duration = Duration::from_secs(900);

/// One synchronisation of a folder.
pub struct Job<'a> {
    pub program: &'a Path,
    pub server: SocketAddr,
    pub index: &'a str,
    pub source: &'a str,
    pub folder: &'a Path,
}

/// Cost of a synchronisation.
pub struct Measured {
    /// Processor time of the job, its child processes and the server.
    pub cpu: Duration,
    /// Duration of the synchronisation.
    pub took: Duration,
    /// Peak memory of the job and its child processes together, in bytes.
    pub peak_bytes: u64,
}

impl Job<'_> {
    /// Runs the synchronisation and waits for its end.
    ///
    /// # Errors
    ///
    /// If the job fails, with its log, or times out.
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
                bail!("the synchronisation did not end within {} s", TIMEOUT.as_secs());
            }
            peak_bytes = peak_bytes.max(resident(child.id()));
            thread::sleep(MEMORY_INTERVAL);
        };
        ensure!(status.success(), "the synchronisation exited with {status}: {}", fs::read_to_string(&log)?);
        let after = cpu::of_ended_children()? + cpu::of_process(server)?;
        let cpu = after.checked_sub(before).context("the processor time decreased")?;
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

/// Resident memory of a process and its child processes, in bytes. Processes that have just exited count as 0.
fn resident(pid: u32) -> u64 {
    let processes = cpu::children(pid).unwrap_or_default().into_iter().chain([pid]);
    processes.filter_map(|process| memory::of_process(process).ok()).map(|memory| memory.resident).sum()
}
