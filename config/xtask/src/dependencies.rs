//! The dependencies against deny.toml: licences, bans, sources, and RustSec's database of advisories.

use std::env;
use std::process::Command;

use anyhow::{Result, bail};

use crate::notes::note;
use crate::place::Place;
use crate::run;

const DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// Set to 1, it lets the check pass where the database of advisories is out of reach.
const WITHOUT_ADVISORIES: &str = "RAGENGINE_WITHOUT_ADVISORIES";

/// Checks the dependencies.
///
/// # Errors
///
/// What cargo-deny found, or the database of advisories cannot be fetched and nothing says that it may be left out.
pub fn check(place: &Place) -> Result<()> {
    run::run(&mut deny(place, &["--locked", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]))?;
    match fetch(place) {
        Ok(()) => run::run(&mut deny(place, &["--locked", "--offline", "check", "advisories"])),
        Err(reason) if env::var(WITHOUT_ADVISORIES).is_ok_and(|value| value == "1") => {
            note(&format!(
                "ADVISORIES WERE NOT CHECKED, nor withdrawn versions: {DATABASE} could not be fetched: {reason}"
            ));
            Ok(())
        }
        Err(reason) => bail!(
            "advisories cannot be checked: their database cannot be fetched: {reason}\n\
             Where a mirror of {DATABASE} is in reach:\n    git config --global url.MIRROR.insteadOf {DATABASE}\n\
             To check everything else without it: {WITHOUT_ADVISORIES}=1"
        ),
    }
}

/// Fetches the database; fails with the last line that cargo-deny said.
fn fetch(place: &Place) -> Result<(), String> {
    let mut timeout = run::command("timeout", &place.root);
    timeout.args(["--foreground", "120", "cargo", "deny", "fetch", "db"]);
    timeout.env("PATH", run::path_with(&place.cargo_deny_bin)).env("GIT_TERMINAL_PROMPT", "0");
    let output = timeout.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("no answer within 120 s").trim().to_owned())
}

fn deny(place: &Place, arguments: &[&str]) -> Command {
    let mut deny = run::cargo_with(&place.root, &place.cargo_deny_bin, &["deny"]);
    deny.args(arguments);
    deny
}
