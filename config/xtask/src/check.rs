//! Everything that is checked besides the tests.

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;

use crate::place::Place;
use crate::stage::stage;
use crate::{chart, dependencies, features, generate, notes, run};

/// A part of the checks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Format, of the fuzz targets and the tests' Qdrant too.
    Format,
    /// Shell scripts, with ShellCheck.
    Scripts,
    /// Licences, sources and advisories of the dependencies, with cargo-deny.
    Dependencies,
    /// The server alone is built with the workspace's features.
    Features,
    /// Clippy, with warnings as errors.
    Lints,
    /// Clippy of the fuzz targets, which are a separate workspace.
    Fuzz,
    /// rustdoc, with warnings as errors.
    Documentation,
    /// The Helm chart.
    Chart,
    /// Generated files are what the code says.
    Generated,
}

/// Checks everything, or only some parts.
///
/// # Errors
///
/// The first part that fails.
pub fn check(place: &Place, only: &[Part]) -> Result<()> {
    let parts = if only.is_empty() { Part::value_variants() } else { only };
    for part in parts {
        stage(part.title(), || part.check(place))?;
    }
    notes::print();
    Ok(())
}

impl Part {
    fn title(self) -> &'static str {
        match self {
            Self::Format => "Format",
            Self::Scripts => "Shell scripts",
            Self::Dependencies => "Dependencies",
            Self::Features => "Features",
            Self::Lints => "Lints",
            Self::Fuzz => "Fuzz targets",
            Self::Documentation => "Documentation",
            Self::Chart => "Chart",
            Self::Generated => "Generated files",
        }
    }

    fn check(self, place: &Place) -> Result<()> {
        let cargo = |arguments: &[&str]| run::run(&mut run::cargo(&place.root, arguments));
        match self {
            Self::Format => {
                cargo(&["fmt", "--all", "--check"])?;
                cargo(&["fmt", "--manifest-path", "ragengine/fuzz/Cargo.toml", "--check"])?;
                cargo(&["fmt", "--manifest-path", "ragengine/test-qdrant/Cargo.toml", "--check"])
            }
            Self::Scripts => {
                let mut shellcheck = run::command("shellcheck", &place.root);
                shellcheck.args(["--external-sources", "--source-path=SCRIPTDIR", ".ci/run"]);
                run::run(shellcheck.args(scripts(place)?))
            }
            Self::Dependencies => dependencies::check(place),
            Self::Features => features::check(place),
            Self::Lints => cargo(&[
                "clippy",
                "--locked",
                "--workspace",
                "--all-targets",
                "--features",
                "ragengine-e2e/cluster",
                "--",
                "-Dwarnings",
            ]),
            Self::Fuzz => cargo(&[
                "clippy",
                "--locked",
                "--manifest-path",
                "ragengine/fuzz/Cargo.toml",
                "--all-targets",
                "--",
                "-Dwarnings",
            ]),
            Self::Documentation => {
                let mut documentation = run::cargo(&place.root, &["doc", "--locked", "--workspace", "--no-deps"]);
                run::run(documentation.env("RUSTDOCFLAGS", "-Dwarnings"))
            }
            Self::Chart => chart::check(place),
            Self::Generated => generate::generate(place, true),
        }
    }
}

/// All shell scripts that git knows.
fn scripts(place: &Place) -> Result<Vec<PathBuf>> {
    let listed = run::output(run::command("git", &place.root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "*.sh",
    ]))?;
    Ok(listed.lines().map(PathBuf::from).filter(|script| place.root.join(script).is_file()).collect())
}
