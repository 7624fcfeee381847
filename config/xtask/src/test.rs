//! The tests, run and summed up by cargo-nextest.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{env, io, thread};

use anyhow::{Context as _, Result, anyhow};
use clap::ValueEnum;

use crate::place::Place;
use crate::stage::stage;
use crate::summary::Summary;
use crate::{notes, run, snapshots, stage as parts};

/// Which tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Those that need no cluster.
    Fast,
    /// Those on a Kubernetes cluster, and those of the images.
    Cluster,
    /// All.
    All,
}

/// The test that upgrades the previous release, which is built only for it.
const UPGRADE: &str =
    "operator::previous_release::the_previous_release_is_upgraded_with_its_data_and_nothing_is_embedded_again";

/// The tests that need a cluster or images, as cargo-nextest selects them.
const ON_A_CLUSTER: &str = "package(ragengine-e2e) & kind(test)";

/// Runs the tests. The last line is cargo-nextest's closing line.
///
/// # Errors
///
/// The tests cannot be started, or cargo-nextest prints no closing line. A failed test is an exit code.
pub fn test(place: &Place, which: Which, arguments: &[String]) -> Result<ExitCode> {
    let whole = arguments.is_empty() && which != Which::Cluster;
    let references = tempfile::NamedTempFile::new()?;
    let mut nextest = match which {
        Which::Fast => alone(place, &selection(which, arguments)),
        Which::Cluster | Which::All => with_cluster(place, &selection(which, arguments)),
    };
    nextest.env("RAGENGINE_PYTHON", &place.python).env("RAGENGINE_LLAMA_INDEX_PYTHON", &place.llama_index_python);
    if arguments.is_empty() || arguments.iter().any(|argument| UPGRADE.contains(argument.as_str())) {
        nextest.env("RAGENGINE_E2E_PREVIOUS", "1");
    }
    if whole {
        nextest.env(snapshots::REFERENCES, references.path());
    }
    let (summary, mut result) = watch(&mut nextest)?;
    if whole && result.is_ok() {
        result = stage("Documentation tests", || run::run(&mut run::cargo(&place.root, DOCUMENTATION_TESTS)))
            .and_then(|()| snapshots::check(place, references.path()));
    }
    parts::print_table();
    notes::print();
    if let Err(error) = &result {
        println!("\nfailed: {error:#}");
    }
    println!("\n{}", summary.line().context("cargo-nextest printed no closing line")?);
    Ok(if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// cargo-nextest runs none of these.
const DOCUMENTATION_TESTS: &[&str] =
    &["test", "--locked", "--quiet", "--doc", "--package", "ragengine-metrics", "--package", "ragengine-operator"];

/// The arguments of cargo-nextest.
fn selection(which: Which, arguments: &[String]) -> Vec<String> {
    let filter = match which {
        Which::Fast => format!("not ({ON_A_CLUSTER})"),
        Which::Cluster => ON_A_CLUSTER.to_owned(),
        Which::All => "all()".to_owned(),
    };
    // A selected package may lack the feature of the tests on a cluster.
    let selected = which == Which::Fast && !arguments.is_empty();
    let workspace = ["--workspace", "--features", "ragengine-e2e/cluster", "--filterset", &filter];
    let workspace = if selected { &[][..] } else { &workspace[..] };
    let own =
        ["nextest", "run", "--locked", "--no-fail-fast", "--profile", "whole", "--test-threads"].map(str::to_owned);
    let threads = (2 * thread::available_parallelism().map_or(1, usize::from)).to_string();
    own.into_iter()
        .chain([threads])
        .chain(workspace.iter().map(|word| (*word).to_owned()))
        .chain(arguments.iter().cloned())
        .collect()
}

fn alone(place: &Place, arguments: &[String]) -> Command {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run::cargo_with(&place.root, &place.cargo_nextest_bin, &arguments)
}

/// The script makes the cluster, builds the images, and runs cargo-nextest with both in its environment. If that fails,
/// the tests on a cluster fail and all others run.
fn with_cluster(place: &Place, arguments: &[String]) -> Command {
    let mut script = run::command(place.root.join("config/local/with-cluster.sh"), &place.root);
    script.arg(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())).args(arguments);
    script.env("PATH", run::path_with(&place.cargo_nextest_bin));
    script
}

/// Runs it, shows what it prints, and keeps the closing line.
fn watch(command: &mut Command) -> Result<(Summary, Result<()>)> {
    let mut child = command.stderr(Stdio::piped()).spawn().context("the tests cannot be started")?;
    let stderr = child.stderr.take().ok_or_else(|| anyhow!("the tests have no standard error"))?;
    let started = Instant::now();
    let mut summary = Summary::default();
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line?;
        summary.look_at(&String::from_utf8_lossy(&line));
        let mut shown = io::stderr().lock();
        shown.write_all(&line)?;
        shown.write_all(b"\n")?;
    }
    let status = child.wait()?;
    parts::record("Tests, with what they need", started.elapsed());
    let result = if status.success() { Ok(()) } else { Err(anyhow!("see above ({status})")) };
    Ok((summary, result))
}
