//! `ragengine eval`

mod observe;
mod requests;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use ragengine_client::wire::IndexDescription;
use ragengine_evaluation::question::{Question, SplitChoice, parse, select};
use ragengine_evaluation::report::{Heading, html, markdown};
use ragengine_evaluation::summary::{Observed, summarise};

use self::observe::observe;
use super::connect::{client, with_advice};
use crate::args::Eval;

/// Most bytes of a file of questions.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Asks all questions in each configuration, and writes the figures.
///
/// # Errors
///
/// When the questions cannot be read, the server does not answer or refuses, or a report cannot be written.
pub fn run(arguments: &Eval) -> anyhow::Result<()> {
    let questions = questions(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (index, observed) = runtime.block_on(evaluate(arguments, &questions)).map_err(with_advice)?;
    warn_if_nothing_was_found(&questions, &observed);
    let (heading, summary) = (heading(arguments, &index), summarise(&questions, &observed));
    let text = markdown(&heading, &summary);
    if let Some(path) = &arguments.markdown {
        write(path, &text)?;
    }
    if let Some(path) = &arguments.output {
        write(path, &html(&heading, &summary)?)?;
    }
    Ok(io::stdout().write_all(text.as_bytes())?)
}

async fn evaluate(arguments: &Eval, questions: &[Question]) -> anyhow::Result<(IndexDescription, Vec<Observed>)> {
    let index = client(&arguments.server)?.index(&arguments.index).await.map_err(|error| {
        if error.is_not_found() {
            anyhow::anyhow!("there is no index '{}': add documents with `ragengine ingest`", arguments.index)
        } else {
            error.into()
        }
    })?;
    Ok((index, observe(arguments, questions).await?))
}

fn questions(arguments: &Eval) -> anyhow::Result<Vec<Question>> {
    let path = &arguments.questions;
    let shown = path.display();
    let size = fs::metadata(path).with_context(|| format!("cannot read {shown}"))?.len();
    if size > MAX_FILE_BYTES {
        bail!("{shown} has {size} bytes; the limit is {MAX_FILE_BYTES}");
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let all = parse(&text).with_context(|| format!("cannot use {shown}"))?;
    let choice: SplitChoice = arguments.split.into();
    let chosen = select(all, choice);
    if chosen.is_empty() {
        bail!("{shown} has no questions of this split: --split all uses all questions");
    }
    Ok(chosen)
}

fn heading(arguments: &Eval, index: &IndexDescription) -> Heading {
    let name = arguments.questions.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let facts = [
        ("Questions", format!("{name}, split {}", arguments.split)),
        ("Embedding model", index.model.clone()),
        ("Documents", index.documents.to_string()),
        ("Chunks", index.chunks.to_string()),
    ];
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Heading { index: index.name.clone(), facts }
}

/// A wrong id is no error, because a search may find nothing. But if nothing at all is found, the ids are wrong.
fn warn_if_nothing_was_found(questions: &[Question], observed: &[Observed]) {
    let is_found =
        |(question, ranking): (&Question, &Vec<String>)| question.relevant.iter().any(|id| ranking.contains(id));
    let found = |one: &Observed| questions.iter().zip(&one.rankings).any(is_found);
    if questions.iter().any(|question| question.kind.is_answerable()) && !observed.iter().any(found) {
        eprintln!("warning: no relevant document was found: does the index have documents with the ids in 'relevant'?");
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
