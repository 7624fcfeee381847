//! What citations and guardrails add to an answer, and what an answer from the cache saves.

use std::fs;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use ragengine_guardrails::Policy;
use serde_json::{Value, json};

use super::{Bench, INDEX};
use crate::cpu;
use crate::load::{Load, Stop};
use crate::server::Server;
use crate::table::{Comparison, Limit, Row, Table};

/// Ten rules: five patterns, two lists of words, and three scanners for secrets, personal data and invisible characters.
const POLICY: &str = "scanners:
- {type: regex, patterns: ['AKIA[A-Z0-9]{16}', 'AIza[A-Za-z0-9_-]{35}', 'gh[pousr]_[A-Za-z0-9]{36}', 'sk-[A-Za-z0-9]{20,64}', 'Bearer [A-Za-z0-9._-]{16,256}']}
- {type: ban_substrings, substrings: [project unicorn, internal only]}
- {type: ban_substrings, substrings: [confidential], match_type: str}
- {type: secrets}
- {type: sensitive}
- {type: invisible_text}
";

/// The tokens of a streamed answer.
const TOKENS: usize = 20_000;

/// Compares chats with and without citations, and an answer from the cache with a retrieval.
pub async fn grounded(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    guardrails(bench, table)?;
    let folder = bench.folder.path().join("grounded");
    fs::create_dir_all(&folder)?;
    let settings = json!({
        "cache": {"minSimilarity": 0}, "endpoints": {"chat": {"reformulate": false}}, "retrieval": {"maxDistance": 4},
    });
    let mut server = Server::start_with(&bench.parts, &folder, bench.upstream.address(), settings).await?;
    super::filling::fill(&mut server, &folder, INDEX, json!({}), bench.effort.chunks / 10).await?;
    let plain = load(bench, &server, "/v1/chat/completions", chat);
    let cited = load(bench, &server, "/v1/chat/completions", |question| {
        let mut body = chat(question);
        body["citations"] = json!(true);
        body
    });
    let compared = compared(bench, &server, [&cited, &plain]).await.with_context(|| server.condition())?;
    let name = "chat with citations against one without, CPU ms a request";
    table.push(compared.row(name).with_limit(Limit::AtMost(1.05)));
    // The first questions fill the cache.
    let known = load(
        bench,
        &server,
        "/chat",
        |question| json!({"index_name": INDEX, "query": question, "pipeline": {"rerank": "never", "feedback": false}}),
    );
    let retrieved = load(bench, &server, "/retrieve", |question| json!({"index_name": INDEX, "query": question}));
    let compared = self::compared(bench, &server, [&known, &retrieved]).await.with_context(|| server.condition())?;
    let name = "answer from the cache against a retrieval, CPU ms a request";
    table.push(compared.row(name).with_limit(Limit::AtMost(0.2)));
    Ok(())
}

/// The time of guardrails for a token of a stream.
fn guardrails(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let policy = Policy::parse(POLICY)?;
    let words = bench.corpus.questions.join(" ");
    let characters: Vec<char> = words.chars().collect();
    let tokens: Vec<String> = characters.chunks(4).map(|token| token.iter().collect()).cycle().take(TOKENS).collect();
    let mut least = f64::INFINITY;
    for _ in 0..bench.effort.rounds.max(2) {
        let mut stream = policy.stream();
        let before = cpu::of_this_thread();
        for token in &tokens {
            black_box(stream.push(token));
        }
        black_box(stream.finish());
        least = least.min((cpu::of_this_thread() - before).as_secs_f64() * 1e6 / TOKENS as f64);
    }
    table.push(Row::figure("guardrails with ten rules, µs a token of a stream", least).with_limit(Limit::AtMost(3.0)));
    Ok(())
}

/// The CPU time of a request of two loads.
async fn compared(bench: &Bench, server: &Server, [measured, floor]: [&Load; 2]) -> anyhow::Result<Comparison> {
    let mut comparison = Comparison::default();
    for round in 0..=bench.effort.rounds {
        eprintln!("{} against {}: round {round} of {}", measured.path, floor.path, bench.effort.rounds);
        let milliseconds = |cpu: std::time::Duration| cpu.as_secs_f64() * 1e3 / bench.corpus.questions.len() as f64;
        let of_measured = measured.run(&[server.id()]).await?.cpu();
        let of_floor = floor.run(&[server.id()]).await?.cpu();
        if round > 0 {
            comparison.push(milliseconds(of_measured), milliseconds(of_floor));
        }
    }
    Ok(comparison)
}

fn chat(question: &str) -> Value {
    json!({"index_name": INDEX, "messages": [{"role": "user", "content": question}]})
}

fn load(bench: &Bench, server: &Server, path: &'static str, body: impl Fn(&str) -> Value) -> Load {
    let bodies: Arc<[Bytes]> =
        bench.corpus.questions.iter().map(|question| Bytes::from(body(question).to_string())).collect();
    let stop = Stop::Requests(bodies.len());
    Load { address: server.address(), path, bodies, clients: 1, stop }
}
