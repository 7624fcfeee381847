//! `cargo xtask`: generated files, checks and tests. `config/local/setup.sh` installs what they need.

#![expect(clippy::print_stdout, reason = "a program for a terminal")]

mod chart;
mod check;
mod dependencies;
mod features;
mod generate;
mod monitoring;
mod mutants;
mod notes;
mod place;
mod render;
mod run;
mod snapshots;
mod stage;
mod summary;
mod test;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use place::Place;

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the references in docs/, the definitions in crds/ and the chart, and the rendered chart.
    Generate {
        /// Write nothing; fail on the first file that differs, and show the difference.
        #[arg(long)]
        check: bool,
    },
    /// Check format, lints, shell scripts, dependencies, documentation, the chart, generated files and snapshots.
    Check {
        /// Check only this, for example `lints`. Can be given several times.
        #[arg(long)]
        only: Vec<check::Part>,
    },
    /// Run the tests with cargo-nextest.
    Test {
        /// Which tests.
        which: test::Which,
        /// Arguments for cargo-nextest, for example `-p ragengine-settings` or a part of a test's name.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Change the pure code in many small ways and run its tests against each change, with cargo-mutants.
    Mutants {
        /// Only this crate, for example `ragengine-pipeline`. Can be given several times. Default: all pure code.
        #[arg(long)]
        package: Vec<String>,
        /// Only every Nth change, to see a sample. Default: all of them.
        #[arg(long, default_value_t = 1)]
        one_of: u32,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let place = Place::find()?;
    match command {
        Command::Generate { check } => generate::generate(&place, check)?,
        Command::Check { only } => check::check(&place, &only)?,
        // It has reported a failure above the closing line.
        Command::Test { which, arguments } => return test::test(&place, which, &arguments),
        Command::Mutants { package, one_of } => mutants::mutants(&place, &package, one_of)?,
    }
    Ok(ExitCode::SUCCESS)
}
