//! Constant load on a server.

mod requests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use ragengine_e2e::load::{PORT, Report, text};
use ragengine_e2e::server::{documents, question, retrieval};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};

/// The numbers of tasks of each kind.
const WRITERS: usize = 2;
const SEARCHERS: usize = 2;
const CHATTERS: usize = 1;

/// The delay of a task between its requests. It leaves the processors to the servers.
const PAUSE: Duration = Duration::from_millis(250);

/// A writer deletes a document after so many.
const DELETES_EVERY: usize = 4;

/// The maximum number of wrong answers that are kept, and of first and of last repetitions.
const MAX_KEPT: usize = 10;

struct Load {
    requests: requests::Requests,
    index: String,
    /// Every task holds it for reading while its requests run.
    gate: Arc<RwLock<()>>,
    pause: Mutex<Option<OwnedRwLockWriteGuard<()>>>,
    state: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    report: Report,
    /// The documents whose write was sent, acknowledged or not.
    sent: BTreeSet<String>,
}

/// Runs the load until SIGTERM.
pub async fn run(server: Url, index: String) -> anyhow::Result<()> {
    let load = Arc::new(Load::on(server, index)?);
    for writer in 0..WRITERS {
        let act = move |load: Arc<Load>, number| async move { load.write(writer, number).await };
        tokio::spawn(repeat(Arc::clone(&load), act));
    }
    // They choose other documents than each other.
    for searcher in 0..SEARCHERS {
        let act = move |load: Arc<Load>, number| async move { load.search(number * 7 + searcher).await };
        tokio::spawn(repeat(Arc::clone(&load), act));
    }
    for chatter in 0..CHATTERS {
        let act = move |load: Arc<Load>, number| async move { load.chat(number * 5 + chatter).await };
        tokio::spawn(repeat(Arc::clone(&load), act));
    }
    let router = Router::new()
        .route("/report", get(async |State(load): State<Arc<Load>>| Json(load.state().report.clone())))
        .route("/pause", post(pause))
        .route("/resume", post(resume))
        .with_state(load);
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = axum::serve(listener, router) => ended?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

async fn pause(State(load): State<Arc<Load>>) -> Json<Report> {
    let is_paused = lock(&load.pause).is_some();
    if !is_paused {
        let guard = Arc::clone(&load.gate).write_owned().await;
        *lock(&load.pause) = Some(guard);
    }
    Json(load.state().report.clone())
}

async fn resume(State(load): State<Arc<Load>>) -> Json<Value> {
    lock(&load.pause).take();
    Json(json!({}))
}

/// Calls `act` with 0, 1, 2 … for ever, except in a pause.
async fn repeat<F>(load: Arc<Load>, act: impl Fn(Arc<Load>, usize) -> F)
where
    F: Future<Output = Result<(), String>>,
{
    for number in 0.. {
        let turn = load.gate.read().await;
        if let Err(wrong) = act(Arc::clone(&load), number).await {
            let wrongs = &mut load.state().report.wrong;
            if wrongs.len() < MAX_KEPT {
                wrongs.push(wrong);
            }
        }
        drop(turn);
        tokio::time::sleep(PAUSE).await;
    }
}

impl Load {
    fn on(server: Url, index: String) -> anyhow::Result<Self> {
        let requests = requests::Requests::to(server)?;
        Ok(Self { requests, index, gate: Arc::default(), pause: Mutex::default(), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, Progress> {
        lock(&self.state)
    }

    /// Writes a document and reads it. Sometimes deletes an earlier one, which must be gone then.
    async fn write(&self, writer: usize, number: usize) -> Result<(), String> {
        let doc_id = format!("w{writer}-{number:05}");
        self.state().sent.insert(doc_id.clone());
        let text = text(&doc_id);
        self.send(Method::POST, "/index", Some(documents(&self.index, &[(&doc_id, &text)])), 200).await?;
        self.state().report.documents.insert(doc_id.clone());
        let read = self.send(Method::GET, &self.place(&doc_id), None, 200).await?;
        if read["text"] != *text {
            return Err(format!("the document {doc_id} is not as it was written: {read}"));
        }
        if number % DELETES_EVERY == DELETES_EVERY - 1 {
            self.delete(&format!("w{writer}-{:05}", number - 2)).await?;
        }
        Ok(())
    }

    async fn delete(&self, doc_id: &str) -> Result<(), String> {
        if !self.state().report.documents.remove(doc_id) {
            return Ok(());
        }
        let path = format!("/indexes/{}/documents/delete", self.index);
        self.send(Method::POST, &path, Some(json!({"doc_ids": [doc_id]})), 200).await?;
        self.state().report.deleted.insert(doc_id.to_owned());
        self.send(Method::GET, &self.place(doc_id), None, 404).await.map(drop)
    }

    async fn search(&self, number: usize) -> Result<(), String> {
        let Some(doc_id) = self.any(number) else { return Ok(()) };
        let deleted = self.state().report.deleted.clone();
        let body = retrieval(&self.index, &text(&doc_id));
        let found = self.send(Method::POST, "/retrieve", Some(body), 200).await?;
        self.judge(&found["results"], &deleted).map_err(|reason| format!("/retrieve of {doc_id}: {reason}"))
    }

    async fn chat(&self, number: usize) -> Result<(), String> {
        let Some(doc_id) = self.any(number) else { return Ok(()) };
        let deleted = self.state().report.deleted.clone();
        let body = question(&self.index, &text(&doc_id));
        let answer = self.send(Method::POST, "/v1/chat/completions", Some(body), 200).await?;
        if !answer["choices"][0]["message"]["content"].is_string() {
            return Err(format!("a chat about {doc_id} has no answer: {answer}"));
        }
        if answer["source_nodes"].is_null() {
            return Ok(());
        }
        self.judge(&answer["source_nodes"], &deleted).map_err(|reason| format!("a chat about {doc_id}: {reason}"))
    }

    /// An acknowledged document.
    fn any(&self, number: usize) -> Option<String> {
        let state = self.state();
        let documents = &state.report.documents;
        documents.iter().nth(number % documents.len().max(1)).cloned()
    }

    /// Documents that were found must have been written, and not deleted before the search.
    fn judge(&self, found: &Value, deleted: &BTreeSet<String>) -> Result<(), String> {
        let found = found.as_array().ok_or_else(|| format!("no list of documents: {found}"))?;
        let state = self.state();
        for document in found {
            let doc_id = document["doc_id"].as_str().unwrap_or_default();
            if deleted.contains(doc_id) {
                return Err(format!("the deleted document {doc_id} was found"));
            }
            if !state.sent.contains(doc_id) {
                return Err(format!("an unknown document was found: {document}"));
            }
        }
        Ok(())
    }

    fn place(&self, doc_id: &str) -> String {
        format!("/indexes/{}/documents/{doc_id}", self.index)
    }

    /// Sends a request until it is answered, and returns the answer if it has the expected status.
    async fn send(&self, method: Method, path: &str, body: Option<Value>, expected: u16) -> Result<Value, String> {
        let what = format!("{method} {path}");
        let note = |reason: String| {
            let report = &mut self.state().report;
            report.repeated += 1;
            if report.repetitions.len() >= 2 * MAX_KEPT {
                report.repetitions.remove(MAX_KEPT);
            }
            report.repetitions.push(format!("{what}: {reason}"));
        };
        let (status, text) = self.requests.send(method, path, body.as_ref(), note).await?;
        self.state().report.requests += 1;
        if status != expected {
            return Err(format!("{what}: {status} instead of {expected}: {text}"));
        }
        serde_json::from_str(&text).map_err(|error| format!("{what}: not JSON: {error}: {text}"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
