//! Retrieval by vectors and words against retrieval by vectors, on larger indexes of generated vectors.

use std::fs;

use anyhow::Context as _;
use bytes::Bytes;
use serde_json::json;

use super::{Bench, INDEX, RETRIEVED};
use crate::load::{Load, Stop};
use crate::server::Server;
use crate::table::{Comparison, Limit, Table};

/// Compares whole requests, which embed the question.
pub async fn hybrid(bench: &Bench, table: &mut Table) -> anyhow::Result<()> {
    for chunks in [bench.effort.chunks / 10, bench.effort.chunks] {
        let folder = bench.folder.path().join(format!("hybrid-{chunks}"));
        fs::create_dir_all(&folder)?;
        let mut server = Server::start(&bench.parts, &folder, bench.upstream.address()).await?;
        super::filling::fill(&mut server, &folder, INDEX, json!({}), chunks).await?;
        let compared = compared(bench, &server, chunks).await.with_context(|| server.condition())?;
        let name = format!("{chunks} chunks: /retrieve hybrid against dense, CPU ms a request");
        table.push(compared.row(&name).with_limit(Limit::AtMost(1.5)));
    }
    Ok(())
}

async fn compared(bench: &Bench, server: &Server, chunks: usize) -> anyhow::Result<Comparison> {
    let (hybrid, dense) = (load(bench, server, "hybrid"), load(bench, server, "dense"));
    let mut comparison = Comparison::default();
    // The first turn analyses the chunks and fills the caches of the disk.
    for round in 0..=bench.effort.rounds {
        eprintln!("{chunks} chunks, /retrieve hybrid: round {round} of {}", bench.effort.rounds);
        let milliseconds = |cpu: std::time::Duration| cpu.as_secs_f64() * 1e3 / bench.corpus.questions.len() as f64;
        let of_hybrid = hybrid.run(&[server.id()]).await?.cpu();
        let of_dense = dense.run(&[server.id()]).await?.cpu();
        if round > 0 {
            comparison.push(milliseconds(of_hybrid), milliseconds(of_dense));
        }
    }
    Ok(comparison)
}

fn load(bench: &Bench, server: &Server, mode: &str) -> Load {
    let body = |question: &String| {
        let stages = json!({"retrieval": mode});
        let body = json!({"index_name": INDEX, "query": question, "max_node_count": RETRIEVED, "pipeline": stages});
        Bytes::from(body.to_string())
    };
    let bodies: std::sync::Arc<[Bytes]> = bench.corpus.questions.iter().map(body).collect();
    let stop = Stop::Requests(bodies.len());
    Load { address: server.address(), path: "/retrieve", bodies, clients: 1, stop, token: None }
}
