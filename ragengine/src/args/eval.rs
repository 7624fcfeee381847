//! Arguments of `ragengine eval`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ragengine_evaluation::question::{Split, SplitChoice};

use super::Server;

/// Arguments of `ragengine eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// The questions, a JSON object in each line: {"id": "q1", "kind": "known-item", "paraphrase" or "unanswerable",
    /// "split": "tune" or "report", "query": "…", "relevant": ["doc_id", …]}. See docs/quality.md.
    #[arg(value_name = "QUERIES")]
    pub questions: PathBuf,
    /// The index.
    #[arg(long, value_name = "NAME")]
    pub index: String,
    /// The questions to use. What is chosen with the questions of `tune` is reported with those of `report`.
    #[arg(long, value_enum, default_value_t = EvalSplit::Report)]
    pub split: EvalSplit,
    /// The ways to retrieve, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "dense,text,hybrid,rrf")]
    pub retrieval: Vec<EvalRetrieval>,
    /// The thresholds to measure, separated by commas. A threshold that the server does not know is shown as not
    /// available.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "fixed,calibrated")]
    pub threshold: Vec<EvalThreshold>,
    /// The number of chunks to ask for, 10 to 300. More than 10 help when documents have several chunks, because each
    /// document counts once.
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = top_k)]
    pub top_k: usize,
    /// The number of requests at the same time, 1 to 64.
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = concurrency)]
    pub concurrency: usize,
    /// Fail when a request takes longer than this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_seconds: u64,
    /// Write a report with plots to this file (HTML).
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the figures to this file (Markdown). They are printed in any case.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// The questions to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvalSplit {
    /// Those for choosing settings.
    Tune,
    /// Those for reporting.
    Report,
    /// All.
    All,
}

impl From<EvalSplit> for SplitChoice {
    fn from(split: EvalSplit) -> Self {
        match split {
            EvalSplit::Tune => Self::Only(Split::Tune),
            EvalSplit::Report => Self::Only(Split::Report),
            EvalSplit::All => Self::All,
        }
    }
}

/// A way to retrieve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvalRetrieval {
    /// By vectors.
    Dense,
    /// By words.
    Text,
    /// By both, with weighted scores.
    Hybrid,
    /// By both, with reciprocal ranks.
    Rrf,
    /// As the server's settings say.
    Server,
}

/// What decides which chunks are near enough for a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvalThreshold {
    /// The setting `retrieval.maxDistance`.
    Fixed,
    /// A threshold that follows the index.
    Calibrated,
}

impl fmt::Display for EvalSplit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(self, formatter)
    }
}

impl fmt::Display for EvalRetrieval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(self, formatter)
    }
}

impl fmt::Display for EvalThreshold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(self, formatter)
    }
}

/// Writes the name of a value on the command line, which is also its name in requests.
fn write_name(value: &impl ValueEnum, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    value.to_possible_value().map_or(Ok(()), |value| formatter.write_str(value.get_name()))
}

fn top_k(text: &str) -> Result<usize, String> {
    within(text, 10, 300)
}

fn concurrency(text: &str) -> Result<usize, String> {
    within(text, 1, 64)
}

fn within(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("must be a number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn eval(more: &[&str]) -> Result<Eval, clap::Error> {
        let arguments = ["ragengine", "eval", "queries.jsonl", "--index", "docs"].iter().chain(more);
        Arguments::try_parse_from(arguments).map(|arguments| match arguments.command {
            Command::Eval(eval) => eval,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn all_configurations_are_measured_with_the_questions_for_reports_by_default() {
        let eval = eval(&[]).unwrap();
        let shown: Vec<String> = eval.retrieval.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["dense", "text", "hybrid", "rrf"]);
        assert_eq!(eval.threshold, [EvalThreshold::Fixed, EvalThreshold::Calibrated]);
        assert_eq!((eval.split, eval.top_k), (EvalSplit::Report, 10));
    }

    #[test]
    fn values_out_of_range_and_unknown_names_are_refused() {
        for (option, value) in
            [("--top-k", "9"), ("--top-k", "301"), ("--concurrency", "0"), ("--retrieval", "dense,x"), ("--split", "x")]
        {
            assert!(eval(&[option, value]).is_err(), "{option} {value}");
        }
        assert_eq!(eval(&["--retrieval", "server", "--top-k", "300"]).unwrap().retrieval, [EvalRetrieval::Server]);
    }
}
