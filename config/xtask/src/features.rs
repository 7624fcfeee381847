//! The server alone must be built with the dependency features that the whole workspace needs: see ragengine/features.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use crate::place::Place;
use crate::run;

/// Fails when `make run` and the tests would compile a dependency twice, because they want other features of it.
///
/// # Errors
///
/// The dependencies with their features, or cargo fails.
pub fn check(place: &Place) -> Result<()> {
    let server = features(place, &["--edges", "normal,build", "--package", "ragengine"])?;
    let workspace = features(place, &["--edges", "normal,build,dev", "--workspace"])?;
    let missing: Vec<&str> = server.difference(&workspace).map(String::as_str).collect();
    ensure!(
        missing.is_empty(),
        "`make run` and the tests would compile these dependencies twice. Add the features of the workspace to \
         ragengine/features/Cargo.toml:\n{}",
        missing.join("\n")
    );
    Ok(())
}

/// Each dependency that is compiled, with its features.
fn features(place: &Place, arguments: &[&str]) -> Result<BTreeSet<String>> {
    let mut tree = run::cargo(
        &place.root,
        &["tree", "--locked", "--quiet", "--prefix", "none", "--no-dedupe", "--format", "{p} {f}"],
    );
    let own = format!("({}", place.root.display());
    let printed = run::output(tree.args(arguments))?;
    Ok(printed.lines().filter(|line| !line.contains(&own)).map(str::to_owned).collect())
}
