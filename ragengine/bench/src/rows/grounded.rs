//! What authentication, citations and guardrails add to an answer, and what an answer from the cache saves.

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

/// The API key of the caller.
const KEY: &str = "a-key-of-the-benchmark";

/// Compares chats of known callers with citations with those of anybody without, and an answer from the cache with a
/// retrieval.
pub async fn grounded(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    guardrails(bench, table)?;
    let server = &mut filled(bench, "grounded").await?;
    let known_callers = &mut filled(bench, "known-callers").await?;
    known_callers.restart_with(authentication(bench)?).await?;
    let plain = load(bench, server, "/v1/chat/completions", chat);
    let cited = load(bench, known_callers, "/v1/chat/completions", |question| {
        let mut body = chat(question);
        body["citations"] = json!(true);
        body
    });
    let cited = Load { token: Some(KEY), ..cited };
    let compared = compared(bench, [(&cited, known_callers.id()), (&plain, server.id())]).await;
    let compared = compared.with_context(|| format!("{}; {}", server.condition(), known_callers.condition()))?;
    let name = "chat with authentication and citations against one without, CPU ms a request";
    table.push(compared.row(name).with_limit(Limit::AtMost(1.05)));
    // The first questions fill the cache.
    let known = load(
        bench,
        server,
        "/chat",
        |question| json!({"index_name": INDEX, "query": question, "pipeline": {"rerank": "never", "feedback": false}}),
    );
    let retrieved = load(bench, server, "/retrieve", |question| json!({"index_name": INDEX, "query": question}));
    let compared = self::compared(bench, [(&known, server.id()), (&retrieved, server.id())]).await;
    let compared = compared.with_context(|| server.condition())?;
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

/// A server with its own data folder and an index.
async fn filled(bench: &Bench, name: &str) -> anyhow::Result<Server> {
    let folder = bench.folder.path().join(name);
    fs::create_dir_all(&folder)?;
    let settings = json!({
        "cache": {"minSimilarity": 0}, "endpoints": {"chat": {"reformulate": false}}, "retrieval": {"maxDistance": 4},
    });
    let mut server = Server::start_with(&bench.parts, &folder, bench.upstream.address(), settings).await?;
    super::filling::fill(&mut server, &folder, INDEX, json!({}), bench.effort.chunks / 10).await?;
    Ok(server)
}

/// The settings of a server that knows its callers by their API keys, and writes down what they do.
fn authentication(bench: &Bench) -> anyhow::Result<Value> {
    let keys = bench.folder.path().join("keys");
    fs::create_dir_all(&keys)?;
    fs::write(keys.join("benchmark"), KEY)?;
    let rules = json!({INDEX: {"read": ["key:benchmark"], "write": []}});
    let auth = json!({"modes": ["apiKey"], "apiKeysFolder": keys, "indexes": rules});
    Ok(json!({"auth": auth}))
}

/// The CPU time of a request of two loads, each with the process that serves it.
async fn compared(
    bench: &Bench,
    [(measured, measured_process), (floor, floor_process)]: [(&Load, u32); 2],
) -> anyhow::Result<Comparison> {
    let mut comparison = Comparison::default();
    for round in 0..=bench.effort.rounds {
        eprintln!("{} against {}: round {round} of {}", measured.path, floor.path, bench.effort.rounds);
        let milliseconds = |cpu: std::time::Duration| cpu.as_secs_f64() * 1e3 / bench.corpus.questions.len() as f64;
        let of_measured = measured.run(&[measured_process]).await?.cpu();
        let of_floor = floor.run(&[floor_process]).await?.cpu();
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
    Load { address: server.address(), path, bodies, clients: 1, stop, token: None }
}
