//! Measures the cost of counting on this machine: loading, and processor time for a text and for a conversation with
//! it.
//!
//! `cargo run --release -p ragengine-tokenizer --example counting_cost -- TEXT_FILE [DIRECTORY…]` counts the first
//! 6,000 bytes of the file with each kind of tokenizer, and with the models in the directories.

#![expect(clippy::print_stdout, reason = "a measurement's result")]

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use ragengine_tokenizer::Tokenizer;
use serde_json::json;

const BYTES: usize = 6_000;
const ROUNDS: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let text = std::fs::read_to_string(arguments.next().ok_or("give the path of a text file as the first argument")?)?;
    let text = &text[..text.floor_char_boundary(BYTES)];
    println!("{} bytes", text.len());
    cost("estimate", Tokenizer::estimate(), text);
    for model in ["gpt-4", "gpt-4o"] {
        let tokenizer = Tokenizer::openai(model).ok_or("the model is not known")?;
        let started = Instant::now();
        tokenizer.count("first");
        println!("{model} loaded in {:.1?}", started.elapsed());
        cost(model, tokenizer, text);
    }
    for directory in arguments {
        let started = Instant::now();
        let tokenizer = Tokenizer::from_path(Path::new(&directory))?;
        println!("{directory} loaded in {:.1?}", started.elapsed());
        cost(&directory, tokenizer, text);
    }
    Ok(())
}

fn cost(name: &str, tokenizer: Tokenizer, text: &str) {
    let messages = [json!({"role": "system", "content": text}), json!({"role": "user", "content": "Why?"})];
    let (tokens, of_text) = fastest(|| tokenizer.count(text));
    let (with_template, of_conversation) = fastest(|| tokenizer.count_conversation(&messages));
    println!("{name}: {tokens} tokens in {of_text:.1?}, with its template {with_template} in {of_conversation:.1?}");
}

/// The count, and the shortest time of all rounds, which excludes disturbances by other processes.
fn fastest(count: impl Fn() -> u64) -> (u64, Duration) {
    let round = |_| {
        let started = Instant::now();
        let tokens = black_box(count());
        (tokens, started.elapsed())
    };
    (0..ROUNDS).map(round).min_by_key(|(_, elapsed)| *elapsed).unwrap_or_default()
}
