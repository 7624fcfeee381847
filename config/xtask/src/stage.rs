//! Parts of a long run: each says when it begins and how long it took.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result};

/// The file to which every part adds a line with its seconds and its title: `config/local/step.sh` does the same.
pub const PARTS: &str = "RAGENGINE_PARTS";

/// Runs one part.
///
/// # Errors
///
/// What `work` fails with, with the title.
pub fn stage(title: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("== {title}");
    let started = Instant::now();
    let done = work();
    record(title, started.elapsed());
    done.with_context(|| format!("{title}: failed after {} s", started.elapsed().as_secs()))?;
    println!("== {title}: {} s", started.elapsed().as_secs());
    Ok(())
}

/// Adds a row to the table.
pub fn record(title: &str, took: Duration) {
    let Some(file) = env::var_os(PARTS) else { return };
    let line = format!("{}\t{title}\n", took.as_secs());
    // A table without this row is no reason to fail.
    drop(
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(PathBuf::from(file))
            .map(|mut file| file.write_all(line.as_bytes())),
    );
}

/// Prints the table of the parts that took a second or more.
pub fn print_table() {
    let Some(recorded) = env::var_os(PARTS).and_then(|file| fs::read_to_string(file).ok()) else { return };
    println!("\nSeconds of each part:");
    for (seconds, title) in
        recorded.lines().filter_map(|line| line.split_once('\t')).filter(|(seconds, _)| *seconds != "0")
    {
        println!("{seconds:>7}  {title}");
    }
}
