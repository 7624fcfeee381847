//! What the pods of an engine hold, compared with what was acknowledged.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use hyper::Method;
use k8s_openapi::api::core::v1::Pod;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::forward::Connection;
use ragengine_e2e::load::{Load, Report, text};
use ragengine_e2e::metrics::Metrics;
use ragengine_e2e::server::{documents, retrieval};
use ragengine_e2e::{Error, wait};
use serde_json::{Value, json};

use super::{LOADED, PODS, SHARED};

/// The number of documents on a page of a list.
const PAGE: usize = 100;

/// The number of documents that are searched for on each pod, and of deleted ones.
const SEARCHED: usize = 6;

/// Pauses the load, and compares what each pod holds with what was acknowledged. Then lets each pod see writes of the
/// others.
pub async fn check(engine: &Engine<'_>, load: &Load<'_>, phase: &str) -> Result<(), Error> {
    check_with(engine, load, phase, Searches::FindAll).await
}

/// What searches must find.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Searches {
    /// Every document.
    FindAll,
    /// Nothing that is not there. A node of Weaviate 1.35 that was killed may have lost vectors of documents that it has.
    FindNothingWrong,
}

/// The same after a node of Weaviate was killed.
pub async fn check_after_kill(engine: &Engine<'_>, load: &Load<'_>, phase: &str) -> Result<(), Error> {
    check_with(engine, load, phase, Searches::FindNothingWrong).await
}

async fn check_with(engine: &Engine<'_>, load: &Load<'_>, phase: &str, searches: Searches) -> Result<(), Error> {
    let report = load.pause().await?;
    assert!(report.wrong.is_empty(), "{phase}: wrong answers under load: {:#?}", report.wrong);
    let pods = engine.ready_pods(PODS).await?;
    let checks = pods.iter().enumerate().map(async |(number, pod)| {
        let mut connection = engine.connect_to(pod).await?;
        holds(&mut connection, &report, number, searches).await
    });
    try_join_all(checks).await?;
    for pod in &pods {
        until_writes_reach_all_replicas(engine, pod).await?;
    }
    let mut connections = Vec::new();
    for pod in &pods {
        connections.push(engine.connect_to(pod).await?);
    }
    writes_are_seen_at_once(&mut connections, phase, searches).await?;
    conversation_goes_on(&mut connections, phase).await?;
    load.resume().await
}

/// One pod holds all documents, and none that is deleted. Reads a third of them one by one: each pod another third.
async fn holds(connection: &mut Connection, report: &Report, number: usize, searches: Searches) -> Result<(), Error> {
    // The list and the searches may lack documents until a node of Weaviate that was away has caught up.
    wait::until("a pod lists all documents", async || {
        let listed = listed(connection, report).await.map_err(|error| error.to_string())?;
        let index = connection.send(Method::GET, &format!("/indexes/{LOADED}"), None).await;
        let count = index.and_then(|reply| reply.ok()).map_err(|error| error.to_string())?["documents"].clone();
        if listed == report.documents && count == report.documents.len() {
            return Ok(());
        }
        let missing: Vec<_> = report.documents.difference(&listed).take(5).collect();
        let unknown: Vec<_> = listed.difference(&report.documents).take(5).collect();
        Err(format!(
            "{} were acknowledged, {count} are counted, {} are listed; for example, {missing:?} are missing, {unknown:?} are \
             unknown",
            report.documents.len(),
            listed.len()
        ))
    })
    .await?;
    for doc_id in report.documents.iter().skip(number).step_by(PODS) {
        let read = get(connection, LOADED, doc_id, 200).await?;
        assert_eq!(read["text"], text(doc_id), "{read}");
    }
    for doc_id in report.deleted.iter().skip(number).step_by(PODS) {
        get(connection, LOADED, doc_id, 404).await?;
    }
    // Early and late ones.
    let sample = |ids: &BTreeSet<String>| -> Vec<String> {
        ids.iter().skip(number).step_by((ids.len() / SEARCHED).max(1)).cloned().collect()
    };
    let all = if searches == Searches::FindAll { sample(&report.documents) } else { Vec::new() };
    for doc_id in all {
        wait::until(&format!("a pod finds {doc_id}"), async || {
            let found = found(connection, LOADED, &text(&doc_id)).await.map_err(|error| error.to_string())?;
            assert_none_deleted(&found, report);
            if found.contains(&doc_id) { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await?;
    }
    for doc_id in sample(&report.deleted) {
        assert_none_deleted(&found(connection, LOADED, &text(&doc_id)).await?, report);
    }
    Ok(())
}

fn assert_none_deleted(found: &BTreeSet<String>, report: &Report) {
    let returned: Vec<_> = found.intersection(&report.deleted).collect();
    assert!(returned.is_empty(), "deleted documents are found again: {returned:?}");
}

/// The ids of all documents that a pod lists.
async fn listed(connection: &mut Connection, report: &Report) -> Result<BTreeSet<String>, Error> {
    let mut listed = BTreeSet::new();
    for offset in (0..).step_by(PAGE) {
        let path = format!("/indexes/{LOADED}/documents?limit={PAGE}&offset={offset}");
        let page = connection.send(Method::GET, &path, None).await?.ok()?;
        let page = page["documents"].as_array().cloned().unwrap_or_default();
        listed.extend(page.iter().filter_map(|document| document["doc_id"].as_str().map(str::to_owned)));
        if page.len() < PAGE {
            break;
        }
    }
    assert_none_deleted(&listed, report);
    Ok(listed)
}

/// Waits until the writes of a pod wait for all nodes of Weaviate. Each time it writes, so that the pod tries.
async fn until_writes_reach_all_replicas(engine: &Engine<'_>, pod: &Pod) -> Result<(), Error> {
    // A document that did not change would not be written.
    let mut writes = 0;
    wait::until("the writes of a pod reach all replicas", async || {
        writes += 1;
        let write = documents(SHARED, &[("try", &format!("Is everybody there at {writes}?"))]);
        let missing = missing_replicas(engine, pod, &write).await.map_err(|error| error.to_string())?;
        if missing == Some(0.0) { Ok(()) } else { Err(format!("{missing:?} are missing")) }
    })
    .await
}

/// Writes, and returns what the pod's metric says then.
async fn missing_replicas(engine: &Engine<'_>, pod: &Pod, write: &Value) -> Result<Option<f64>, Error> {
    let mut connection = engine.connect_to(pod).await?;
    post(&mut connection, "/index", write).await?;
    let metrics = Metrics::parse(&connection.send(Method::GET, "/metrics", None).await?.text);
    Ok(metrics.of("ragengine_vector_engine_replica_missing").next().map(|sample| sample.value))
}

/// What one pod writes and deletes, each other pod answers with at once.
async fn writes_are_seen_at_once(connections: &mut [Connection], phase: &str, searches: Searches) -> Result<(), Error> {
    for number in 0..connections.len() {
        let doc_id = format!("{phase}-{number}");
        let text = format!("The lighthouse of {phase} number {number} is lit.");
        post(&mut connections[number], "/index", &documents(SHARED, &[(&doc_id, &text)])).await?;
        for (other, connection) in connections.iter_mut().enumerate() {
            assert_eq!(get(connection, SHARED, &doc_id, 200).await?["text"], text);
            let found = found(connection, SHARED, &text).await?;
            let is_found = found.contains(&doc_id) || searches == Searches::FindNothingWrong;
            assert!(is_found, "{doc_id} is not found by pod {other} at once: {found:?}");
        }
        let path = format!("/indexes/{SHARED}/documents/delete");
        let deleted = post(&mut connections[number], &path, &json!({"doc_ids": [doc_id]})).await?;
        assert_eq!(deleted["deleted_doc_ids"], json!([doc_id]), "{deleted}");
        for (other, connection) in connections.iter_mut().enumerate() {
            get(connection, SHARED, &doc_id, 404).await?;
            let found = found(connection, SHARED, &text).await?;
            assert!(!found.contains(&doc_id), "{doc_id} is found by pod {other} after its deletion");
        }
    }
    Ok(())
}

/// Each pod takes a turn of the same conversation, and knows the turns of the others.
async fn conversation_goes_on(connections: &mut [Connection], phase: &str) -> Result<(), Error> {
    let session = format!("conversation-{phase}");
    let asked = json!({"query": "Who saw a whale?", "session_id": session, "index_name": LOADED});
    for number in 0..connections.len() {
        post(&mut connections[number], "/query", &asked).await?;
        for connection in &mut *connections {
            let path = format!("/chat/history/{session}");
            let history = connection.send(Method::GET, &path, None).await?.ok()?;
            let messages = history["messages"].as_array().map_or(0, Vec::len);
            assert_eq!(messages, 2 * (number + 1), "{history}");
        }
    }
    Ok(())
}

async fn get(connection: &mut Connection, index: &str, doc_id: &str, status: u16) -> Result<Value, Error> {
    let reply = connection.send(Method::GET, &format!("/indexes/{index}/documents/{doc_id}"), None).await?;
    assert_eq!(reply.status, status, "{}: {}", reply.request, reply.text);
    reply.json()
}

async fn post(connection: &mut Connection, path: &str, body: &Value) -> Result<Value, Error> {
    connection.send(Method::POST, path, Some(body)).await?.ok()
}

/// The ids of the documents that a search finds.
async fn found(connection: &mut Connection, index: &str, query: &str) -> Result<BTreeSet<String>, Error> {
    let found = post(connection, "/retrieve", &retrieval(index, query)).await?;
    let results = found["results"].as_array().cloned().unwrap_or_default();
    Ok(results.iter().filter_map(|result| result["doc_id"].as_str().map(str::to_owned)).collect())
}
