//! Profiles of the server while one client sends each kind of request.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::Bench;
use crate::load::{Load, Stop};

/// Samples a second. No multiple of a timer's frequency.
const FREQUENCY: &str = "997";

/// How the stack of each sample is taken: by its debug information, from this many bytes.
const STACK: &str = "dwarf,16384";

/// Records a profile of each kind of request with one client, in files of `perf`. Needs the documents in the index.
pub async fn profiles(bench: &Bench) -> anyhow::Result<()> {
    let folder = &bench.parts.profiles;
    for (name, load) in [
        ("retrieve-dense", bench.retrievals()),
        ("retrieve-filtered", bench.filtered_retrievals()),
        ("retrieve-hybrid", bench.retrievals_by("hybrid")),
        ("chat", bench.chats()),
        ("pass-through", bench.passed_through()),
    ] {
        eprintln!("profile of {name}");
        let load = Load { stop: Stop::After(bench.effort.turn), ..load };
        bench.run(&load).await?;
        recorded(bench, &load, &folder.join(name).with_extension("perf")).await.context(name)?;
    }
    Ok(())
}

async fn recorded(bench: &Bench, load: &Load, file: &Path) -> anyhow::Result<()> {
    let mut perf = Command::new("perf")
        .args(["record", "--quiet", "--freq", FREQUENCY, "--call-graph", STACK, "--pid"])
        .arg(bench.server.id().to_string())
        .arg("--output")
        .arg(file)
        .stdout(Stdio::null())
        .spawn()
        .context("perf cannot be started: install the package linux-perf")?;
    let result = bench.run(load).await;
    let id = i32::try_from(perf.id()).ok().and_then(Pid::from_raw).context("perf has no process id")?;
    // It writes its file when it is interrupted.
    kill_process(id, Signal::INT)?;
    perf.wait()?;
    result?;
    ensure!(file.is_file(), "perf recorded nothing: perf_event_paranoid may forbid it");
    Ok(())
}
