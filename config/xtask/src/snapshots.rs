//! Snapshots that no test refers to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::place::Place;
use crate::run;

/// The file to which insta adds the path of each snapshot that a test refers to.
pub const REFERENCES: &str = "INSTA_SNAPSHOT_REFERENCES_FILE";

/// Fails when a snapshot is in the checkout to which no test of a whole run referred.
///
/// # Errors
///
/// Those snapshots, or the list cannot be read.
pub fn check(place: &Place, references: &Path) -> Result<()> {
    let referred: BTreeSet<PathBuf> =
        fs::read_to_string(references)?.lines().filter_map(|line| fs::canonicalize(line).ok()).collect();
    let listed = run::output(run::command("git", &place.root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "*.snap",
    ]))?;
    let unreferred: Vec<&str> = listed
        .lines()
        .filter(|snapshot| fs::canonicalize(place.root.join(snapshot)).is_ok_and(|path| !referred.contains(&path)))
        .collect();
    ensure!(unreferred.is_empty(), "no test refers to these snapshots, delete them:\n{}", unreferred.join("\n"));
    Ok(())
}
