//! Synchronisation of an index with its sources: `ragengine sync` as a separate process, and the server.

mod difficult;
mod job;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};
use job::Job;

use super::Bench;
use super::ingest::mebibytes;
use crate::table::{Comparison, Limit, Row, Table};

/// Number of files per turn of the comparison with embedding: some seconds of both cores.
const TURN: usize = 100;

/// Measures a first synchronisation, one of unchanged files, and one of large and hostile files.
pub async fn sync(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    first(bench, table).await?;
    unchanged(bench, table).await?;
    difficult(bench, table).await
}

/// Compares a first synchronisation with embedding the same texts. Each turn has a new source.
async fn first(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let mut comparison = Comparison::default();
    for (turn, texts) in bench.corpus.documents.chunks(TURN).enumerate() {
        eprintln!("sync: {} of {} files", turn * TURN, bench.corpus.documents.len());
        let folder = bench.folder.path().join(format!("turn-{turn}"));
        write_files(&folder, texts)?;
        let measured = run(bench, "sync-turns", &format!("turn-{turn}"), &folder)?;
        let floor = bench.floor.embed(texts.to_vec()).await?;
        let per_file = |cpu: Duration| cpu.as_secs_f64() * 1e3 / texts.len() as f64;
        comparison.push(per_file(measured.cpu), per_file(floor.cpu));
    }
    table.push(comparison.row("first sync, CPU ms a file").with_limit(Limit::AtMost(1.15)));
    Ok(())
}

/// Synchronises all files as one source twice; the second time they are unchanged.
async fn unchanged(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let folder = bench.folder.path().join("all");
    write_files(&folder, &bench.corpus.documents)?;
    eprintln!("sync: {} files in one source, twice", bench.corpus.documents.len());
    let once = run(bench, "sync", "all", &folder)?;
    let data = bench.folder.path().join("data");
    let before = modification_times(&data)?;
    let twice = run(bench, "sync", "all", &folder)?;
    ensure!(modification_times(&data)? == before, "a synchronisation of unchanged files wrote to the disk");
    let percent = twice.cpu.as_secs_f64() / once.cpu.as_secs_f64() * 1e2;
    table.push(Row::figure("sync of unchanged files, % of the first's CPU", percent).with_limit(Limit::AtMost(2.0)));
    table.push(Row::figure("sync of unchanged files, s", twice.took.as_secs_f64()));
    table.push(Row::figure("sync of small files, peak memory of the job, MiB", mebibytes(once.peak_bytes)));
    Ok(())
}

/// Synchronises files that try to use too much memory and time.
async fn difficult(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let folder = bench.folder.path().join("difficult");
    difficult::write(&folder)?;
    eprintln!("sync: large and hostile files");
    let measured = run(bench, "sync-difficult", "difficult", &folder)?;
    table.push(
        Row::figure("sync of large and hostile files, peak memory of the job, MiB", mebibytes(measured.peak_bytes))
            .with_limit(Limit::AtMost(128.0)),
    );
    table.push(Row::figure("sync of large and hostile files, s", measured.took.as_secs_f64()));
    Ok(())
}

fn run(bench: &Bench, index: &str, source: &str, folder: &Path) -> anyhow::Result<job::Measured> {
    let job = Job { program: &bench.parts.server, server: bench.server.address(), index, source, folder };
    job.run(bench.folder.path(), bench.server.id())
}

fn write_files(folder: &Path, texts: &[String]) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, text) in texts.iter().enumerate() {
        fs::write(folder.join(format!("{number:05}.txt")), text)?;
    }
    Ok(())
}

/// Modification time of each file below a folder.
fn modification_times(folder: &Path) -> anyhow::Result<Vec<(PathBuf, SystemTime)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(modification_times(&entry.path())?);
        } else {
            files.push((entry.path(), entry.metadata()?.modified()?));
        }
    }
    files.sort();
    Ok(files)
}
