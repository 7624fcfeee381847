//! Prepares the passages of the evaluation. `config/local/eval.sh` runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use ragengine_evaluation::passages::manifest::{self, Package};
use ragengine_evaluation::passages::{self, Passage};
use ragengine_evaluation::question;

/// Prepares the passages of the evaluation from freely licensed packages.
#[derive(Debug, Parser)]
struct Arguments {
    /// The list of packages.
    #[arg(long, value_name = "FILE")]
    packages: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the packages of PyPI as requirements for pip, with hashes.
    Requirements,
    /// Print the crates as a manifest for `cargo fetch`.
    CargoManifest,
    /// Print the names of the archives.
    Archives,
    /// Verify the archives, and write each passage to a file.
    Cut {
        /// The folder with the archives.
        #[arg(long, value_name = "FOLDER")]
        archives: PathBuf,
        /// The folder to write to. It must not exist.
        #[arg(long, value_name = "FOLDER")]
        output: PathBuf,
        /// Questions: fail if one names a passage that does not exist. May be given several times.
        #[arg(long, value_name = "FILE")]
        questions: Vec<PathBuf>,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let list = fs::read_to_string(&arguments.packages)
        .with_context(|| format!("cannot read {}", arguments.packages.display()))?;
    let packages = manifest::parse(&list).with_context(|| format!("{} is invalid", arguments.packages.display()))?;
    let mut out = io::stdout();
    match arguments.command {
        Command::Requirements => write!(out, "{}", manifest::requirements(&packages))?,
        Command::CargoManifest => write!(out, "{}", manifest::cargo_manifest(&packages))?,
        Command::Archives => packages.iter().try_for_each(|package| writeln!(out, "{}", package.file))?,
        Command::Cut { archives, output, questions } => {
            let passages = cut(&packages, &archives)?;
            questions.iter().try_for_each(|questions| check(questions, &passages))?;
            write_all(&passages, &output).with_context(|| format!("cannot write to {}", output.display()))?;
            for (kind, count) in counts(&passages) {
                writeln!(out, "{kind}: {count} passages")?;
            }
        }
    }
    Ok(())
}

fn cut(packages: &[Package], archives: &Path) -> Result<Vec<Passage>> {
    let mut passages = Vec::new();
    for package in packages {
        let path = archives.join(&package.file);
        let archive = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        passages.extend(passages::cut(package, &passages::read(package, &archive)?));
    }
    Ok(passages)
}

/// A question about a passage that does not exist could never be answered.
fn check(questions: &Path, passages: &[Passage]) -> Result<()> {
    let shown = questions.display();
    let text = fs::read_to_string(questions).with_context(|| format!("cannot read {shown}"))?;
    let known: BTreeSet<String> = passages.iter().map(Passage::doc_id).collect();
    for question in question::parse(&text).with_context(|| format!("cannot use {shown}"))? {
        if let Some(missing) = question.relevant.iter().find(|doc_id| !known.contains(*doc_id)) {
            bail!("question '{}' of {shown} names {missing}, which is no passage", question.id);
        }
    }
    Ok(())
}

fn write_all(passages: &[Passage], output: &Path) -> io::Result<()> {
    fs::create_dir(output)?;
    for passage in passages {
        let path = output.join(&passage.path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, &passage.text)?;
    }
    Ok(())
}

fn counts(passages: &[Passage]) -> BTreeMap<&'static str, usize> {
    passages.iter().fold(BTreeMap::new(), |mut counts, passage| {
        *counts.entry(passage.kind.name()).or_default() += 1;
        counts
    })
}
