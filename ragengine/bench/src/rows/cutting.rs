use std::time::Duration;

use ragengine_compute::Waiter;
use ragengine_index::chunking::{Language, Sizes, SplitType, Work, cut};

use super::Bench;
use crate::cpu;
use crate::table::{Comparison, Limit, Table};

/// Limit of the cost of any document, relative to prose of the same size.
const MAX_RATIO: f64 = 12.0;

/// Compares splitting the most expensive documents into chunks with splitting plain prose of the same size. Tokens are
/// counted with the tokenizer of the embedding model.
pub async fn cutting(bench: &mut Bench, table: &mut Table) -> anyhow::Result<()> {
    let bytes = bench.effort.cut_bytes;
    let prose = repeated(&(bench.corpus.documents.join("\n\n") + "\n\n"), bytes);
    for (name, split, text) in worst(bytes) {
        eprintln!("cutting: {name}");
        let mut compared = Comparison::default();
        for _ in 0..bench.effort.rounds.min(3) {
            let floor = seconds_a_megabyte(bench, SplitType::Prose, &prose)?;
            compared.push(seconds_a_megabyte(bench, split, &text)?, floor);
        }
        let row = compared.row(&format!("cutting {name}, CPU s a MB, against prose"));
        table.push(row.with_limit(Limit::AtMost(MAX_RATIO)));
    }
    Ok(())
}

/// The slowest known documents of each kind.
fn worst(bytes: usize) -> Vec<(&'static str, SplitType, String)> {
    let half = bytes / 2;
    let titled =
        format!("# {}\n\n{}", repeated("title ", half), repeated("## a\n\na text below it, and more\n\n", half));
    let nested = repeated(&("{a;".repeat(200) + &"}".repeat(200)), bytes);
    vec![
        ("prose that is one sentence", SplitType::Prose, repeated("word ", bytes)),
        ("prose of line breaks", SplitType::Prose, repeated("a\n", bytes)),
        ("Markdown with a long title", SplitType::Markdown, titled),
        ("Markdown of empty headings", SplitType::Markdown, repeated("#\n", bytes)),
        ("Markdown of lists in lists", SplitType::Markdown, repeated("- ", half) + &repeated("\n", half)),
        ("code of blocks in blocks", SplitType::Code(Language::Java), nested),
        ("code of open braces", SplitType::Code(Language::JavaScript), repeated("{", bytes)),
        ("code of operators", SplitType::Code(Language::Go), repeated("!", bytes)),
        ("code of open comments", SplitType::Code(Language::C), repeated("/*", bytes)),
        ("short pages", SplitType::Pages, repeated("a\u{C}", bytes)),
    ]
}

fn repeated(part: &str, bytes: usize) -> String {
    let text = part.repeat(bytes.div_ceil(part.len()));
    text[..text.floor_char_boundary(bytes)].to_owned()
}

/// Processor time of splitting, in seconds per megabyte. Splitting uses only the calling thread.
fn seconds_a_megabyte(bench: &Bench, split: SplitType, text: &str) -> anyhow::Result<f64> {
    let max_passage_tokens = bench.floor.max_passage_tokens();
    let sizes = Sizes::resolve(None, None, max_passage_tokens);
    let work = Work::begin(Waiter::default(), Some(Duration::from_secs(600)));
    let before = cpu::of_this_thread();
    cut(text, split, sizes, &|text| bench.floor.count_tokens(text), &work)?;
    Ok((cpu::of_this_thread() - before).as_secs_f64() * 1e6 / text.len() as f64)
}
