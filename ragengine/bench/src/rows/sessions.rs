//! What sessions in Redis and PostgreSQL add to a question of a conversation.

#[path = "../../../stores/tests/stores/test_postgres.rs"]
#[expect(dead_code, reason = "the tests of the stores use the rest")]
mod test_postgres;
#[path = "../../../stores/tests/stores/test_redis.rs"]
#[expect(dead_code, reason = "the tests of the stores use the rest")]
mod test_redis;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use ragengine_metrics::Builder;
use ragengine_stores::{Newest, Postgres, Redis, SessionKey, SessionStore, StoreMetrics, Turn};
use serde_json::{Value, json};

use self::test_postgres::TestPostgres;
use self::test_redis::TestRedis;
use super::{Bench, INDEX, latency};
use crate::load::{Load, Stop};
use crate::server::Server;
use crate::table::{Limit, Row, Table};

/// The sessions in the store.
const SESSIONS: usize = 10_000;

/// The earlier turns of each.
const TURNS: u64 = 2;

const EXPIRY: Duration = Duration::from_secs(86_400);

/// The owner of sessions of callers whose names are not known.
const OWNER: &str = "-";

/// Compares the median time of a question whose session is in a store with that of one in memory.
pub async fn sessions(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    let in_redis = SessionStore::redis(Redis::open(&redis.options("bench")).await?, EXPIRY, metrics()?);
    let in_postgres = SessionStore::postgres(Postgres::open(&postgres.options("bench")).await?, EXPIRY, metrics()?);
    let (redis, postgres) = (redis.options("bench"), postgres.options("bench"));
    let stores =
        [("redis", in_redis, redis.url, redis.password), ("postgres", in_postgres, postgres.url, postgres.password)];
    let memory = started(bench, "memory", json!({})).await?;
    // The same sessions, so that both sides have the same prompts.
    for _ in 0..TURNS {
        load(bench, &memory).run(&[]).await?;
    }
    for (name, store, url, password) in stores {
        fill(bench, &store).await.with_context(|| format!("the sessions in {name}"))?;
        let file = bench.folder.path().join(format!("{name}-password"));
        fs::write(&file, password.unwrap_or_default())?;
        let settings = json!({
            "stateNamespace": "bench", name: {"url": url, "password": {"file": file}}, "sessions": {"store": name},
        });
        let server = started(bench, name, settings).await?;
        let (mut stored, mut in_memory) = (Vec::new(), Vec::new());
        for round in 1..=bench.effort.rounds {
            eprintln!("/query with sessions in {name}: round {round} of {}", bench.effort.rounds);
            stored.push(load(bench, &server).run(&[server.id()]).await?);
            in_memory.push(load(bench, &memory).run(&[memory.id()]).await?);
        }
        let (stored, in_memory) = (latency(&stored, 0.5), latency(&in_memory, 0.5));
        let row = format!("{SESSIONS} sessions in {name}: /query, ms more at the median than in memory");
        table.push(Row::figure(&row, stored - in_memory).with_limit(Limit::AtMost(3.0)));
        table.push(Row::figure(&format!("{SESSIONS} sessions in {name}: /query, ms at the median"), stored));
    }
    Ok(())
}

fn metrics() -> anyhow::Result<StoreMetrics> {
    Ok(StoreMetrics::new(&mut Builder::new(EXPIRY)?)?)
}

/// A server with the documents. Nothing but the answer asks the language model.
async fn started(bench: &Bench, name: &str, mut settings: Value) -> anyhow::Result<Server> {
    let folder = bench.folder.path().join(format!("sessions-{name}"));
    fs::create_dir_all(&folder)?;
    settings["endpoints"] = json!({"query": {"condense": "never", "rerank": "never"}});
    let mut server = Server::start_with(&bench.parts, &folder, bench.upstream.address(), settings).await?;
    super::filling::fill(&mut server, &folder, INDEX, json!({}), bench.effort.chunks / 100).await?;
    Ok(server)
}

/// One question in each of some sessions.
fn load(bench: &Bench, server: &Server) -> Load {
    let body = |(number, question): (usize, &String)| {
        let body = json!({"index_name": INDEX, "query": question, "session_id": session(number)});
        Bytes::from(body.to_string())
    };
    let bodies: Arc<[Bytes]> = bench.corpus.questions.iter().enumerate().map(body).collect();
    let stop = Stop::Requests(bodies.len());
    Load { address: server.address(), path: "/query", bodies, clients: 1, stop, token: None }
}

fn session(number: usize) -> String {
    format!("session-{number}")
}

/// Fills a store with sessions.
async fn fill(bench: &Bench, store: &SessionStore) -> anyhow::Result<()> {
    for number in 0..SESSIONS {
        let key = SessionKey { owner: OWNER.to_owned(), id: session(number) };
        for _ in 0..TURNS {
            let seq = store.join(&key, Newest { turns: 0, bytes: 0 }).await?.seq;
            let turn = Turn {
                seq,
                question: bench.corpus.questions[number % bench.corpus.questions.len()].clone(),
                answer: "An answer. ".repeat(10),
                sources: "[]".to_owned(),
                complete: true,
                ..Turn::default()
            };
            store.add(&key, turn).await?;
        }
    }
    Ok(())
}
