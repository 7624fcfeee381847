//! Mutation tests of the pure code, with cargo-mutants: each small change of the code should fail a test.
//! config/mutants/survivors.txt names the changes that may fail none, each with a reason.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::place::Place;
use crate::run;

const SURVIVORS: &str = "config/mutants/survivors.txt";

/// Pure code of one crate.
struct Pure {
    package: &'static str,
    files: &'static [&'static str],
    /// The tests that are built and run. Building takes most of the time, so these are the fewest that suffice.
    tests: &'static [&'static str],
    /// Parts of the names of tests that are left out. They wait, measure the work on long texts, or have other subjects.
    left_out: &'static [&'static str],
}

/// The unit tests.
const UNIT: &str = "--lib";
/// The tests in the folder `tests`.
const OUTSIDE: &str = "--test=*";

const PURE: [Pure; 6] = [
    Pure {
        package: "ragengine-pipeline",
        files: &["ragengine/pipeline/src/**"],
        tests: &[UNIT],
        left_out: &["take_linear_work", "a_long_text_is_read_once"],
    },
    Pure {
        package: "ragengine-tokenizer",
        files: &["ragengine/tokenizer/src/**"],
        tests: &[UNIT, OUTSIDE],
        left_out: &[],
    },
    Pure { package: "ragengine-settings", files: &["ragengine/settings/src/**"], tests: &[UNIT], left_out: &[] },
    Pure {
        package: "ragengine-sync",
        files: &["ragengine/sync/src/deletion.rs", "ragengine/sync/src/removed/**"],
        tests: &[UNIT],
        left_out: &[],
    },
    Pure {
        package: "ragengine-operator",
        files: &[
            "operator/src/rag_engine/build/**",
            "operator/src/rag_engine/status/**",
            "operator/src/index/build/**",
            "operator/src/index/plan.rs",
            "operator/src/index/plan/**",
            "operator/src/index/status.rs",
        ],
        tests: &[OUTSIDE],
        // With the whole controller.
        left_out: &[
            "controller::",
            "drift::",
            "every_field::",
            "faults::",
            "index::deleted::",
            "index::desired::",
            "index::real_server::",
            "index::record::",
            "index::rivals::",
            "index::running::",
            "index::schedule::",
            "index::stuck::",
            "index::tasks::",
            "index::tls::",
            "lease::",
            "ownership::",
            "paused::",
            "quiet::",
            "rollouts::",
            "watched::",
            "withheld::",
        ],
    },
    Pure {
        package: "ragengine-operator",
        files: &[
            "operator/src/apply/difference.rs",
            "operator/src/apply/difference/**",
            "operator/src/lease/decide.rs",
        ],
        tests: &[UNIT],
        left_out: &[],
    },
];

/// Changes the pure code in every small way that cargo-mutants knows, and runs the crate's tests against each change.
///
/// # Errors
///
/// cargo-mutants cannot run, or a change fails no test and [`SURVIVORS`] does not name it.
pub fn mutants(place: &Place, packages: &[String], one_of: u32) -> Result<()> {
    let known = survivors(
        &fs::read_to_string(place.root.join(SURVIVORS)).with_context(|| format!("{SURVIVORS} cannot be read"))?,
    )?;
    let mut unknown = Vec::new();
    for pure in PURE {
        if !packages.is_empty() && !packages.iter().any(|wanted| wanted == pure.package) {
            continue;
        }
        for survivor in survive(place, &pure, one_of)? {
            if !known.contains_key(&without_place(&survivor)) {
                unknown.push(survivor);
            }
        }
    }
    ensure!(
        unknown.is_empty(),
        "no test fails when the code is changed so. Add a test, or the change with its reason to {SURVIVORS}:\n{}",
        unknown.join("\n")
    );
    println!("Every change fails a test, or is in {SURVIVORS}.");
    Ok(())
}

/// The changes to one crate that fail no test.
fn survive(place: &Place, pure: &Pure, one_of: u32) -> Result<Vec<String>> {
    let output = place.target.join("mutation").join(pure.package);
    fs::create_dir_all(&output)?;
    let mut command = run::cargo_with(&place.root, &place.cargo_mutants_bin, &["mutants", "--package", pure.package]);
    // Not a copy of the workspace: the build of its dependencies is used as it is.
    command.args(["--in-place", "--no-shuffle", "--colors", "never", "--profile", "mutants"]);
    command.args(["--timeout-multiplier", "5", "--minimum-test-timeout", "30", "--baseline", "run"]);
    command.arg("--output").arg(&output);
    for file in pure.files {
        command.args(["--file", file]);
    }
    if one_of > 1 {
        command.args(["--shard", &format!("0/{one_of}"), "--sharding", "round-robin"]);
    }
    command.args(pure.tests.iter().map(|tests| format!("--cargo-arg={tests}")));
    // Many tests wait for each other's replies, so more run at once than there are cores.
    command.args(["--", "--", "--test-threads", "8"]);
    for name in pure.left_out {
        command.args(["--skip", name]);
    }
    // Fewer cases of each property, and the first failure is enough.
    command.env("PROPTEST_CASES", "32").env("PROPTEST_MAX_SHRINK_ITERS", "0");
    command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true");
    // Room on the stack for code that is not optimised.
    command.env("RUST_MIN_STACK", "16777216");
    // 0: all were caught. 2: some were missed. 3: some took too long, which a test noticed.
    let status = command.status().context("cargo-mutants cannot be started")?;
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo-mutants failed on {}: {status}", pure.package);
    let missed = fs::read_to_string(output.join("mutants.out/missed.txt"))?;
    Ok(missed.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// The known survivors and their reasons: `FILE: CHANGE # REASON`, a line each.
fn survivors(text: &str) -> Result<BTreeMap<String, String>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (change, reason) =
                line.split_once(" # ").with_context(|| format!("{SURVIVORS}: no reason in this line: {line}"))?;
            Ok((change.trim().to_owned(), reason.trim().to_owned()))
        })
        .collect()
}

/// `FILE:LINE:COLUMN: CHANGE` without line and column, which move.
fn without_place(survivor: &str) -> String {
    let mut parts = survivor.splitn(4, ':');
    match (parts.next(), parts.nth(2)) {
        (Some(file), Some(change)) => format!("{file}:{change}"),
        _ => survivor.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{PURE, survivors, without_place};

    #[test]
    fn the_files_of_the_pure_code_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in PURE.iter().flat_map(|pure| pure.files) {
            assert!(root.join(file.trim_end_matches("**")).exists(), "{file}");
        }
    }

    #[test]
    fn a_survivor_is_known_wherever_its_line_moves() {
        let known = survivors("# comment\n\na/b.rs: replace > with >= in fits # equal lengths are the same\n").unwrap();
        let found = without_place("a/b.rs:17:5: replace > with >= in fits");
        assert_eq!(known.get(&found).map(String::as_str), Some("equal lengths are the same"));
    }

    #[test]
    fn a_survivor_without_a_reason_is_refused() {
        assert!(survivors("a/b.rs: replace > with >= in fits").is_err());
    }
}
