//! Indexes in Weaviate and in Qdrant, shared by several servers, with their list in PostgreSQL.

#[path = "../../vector-database/tests/databases/nodes.rs"]
#[expect(dead_code, reason = "the tests of the crate `ragengine-vector-database` use the rest")]
mod nodes;

#[path = "../../vector-database/tests/databases/qdrant.rs"]
mod qdrant;

mod replaced;

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use self::nodes::Nodes;
use self::qdrant::Qdrant;
use self::replaced::{
    a_request_to_a_replaced_index_does_not_take_it_for_deleted, an_index_that_is_published_late_stays,
};
use crate::postgres::test_postgres::TestPostgres;
use crate::support::{FACTS, Server, ask, settings};

/// A vector database.
enum Database {
    Weaviate(Nodes),
    Qdrant(Qdrant),
}

impl Database {
    async fn weaviate() -> Self {
        Self::Weaviate(Nodes::start(1).await)
    }

    async fn qdrant() -> Self {
        Self::Qdrant(Qdrant::start().await)
    }

    /// The nodes of Weaviate.
    fn nodes(&mut self) -> &mut Nodes {
        match self {
            Self::Weaviate(nodes) => nodes,
            Self::Qdrant(_) => panic!("it is Weaviate"),
        }
    }

    /// The name of its engine, its address and its key.
    fn settings(&self) -> (&'static str, String, &'static str) {
        match self {
            Self::Weaviate(nodes) => ("weaviate", nodes.url(0), nodes::API_KEY),
            Self::Qdrant(qdrant) => ("qdrant", qdrant.url(), qdrant::API_KEY),
        }
    }
}

/// Makes tests of functions that take a [`Database`], with each of them.
macro_rules! with_each_database {
    ($($test:ident),* $(,)?) => {
        mod with_weaviate {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test(super::Database::weaviate().await).await;
            })*
        }

        mod with_qdrant {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test(super::Database::qdrant().await).await;
            })*
        }
    };
}

with_each_database!(
    what_one_server_writes_another_answers_from,
    a_list_is_read_page_by_page,
    a_source_has_one_synchronisation_over_all_servers,
    what_an_external_engine_cannot_do_is_said,
    an_index_moves_to_the_database_and_back_without_its_texts_being_embedded_again,
    a_damaged_backup_changes_nothing,
    an_index_that_is_published_late_stays,
    a_request_to_a_replaced_index_does_not_take_it_for_deleted,
    reads_go_on_without_postgres_and_writes_are_refused,
);

/// A vector database, PostgreSQL, and servers that share them.
struct Shared {
    database: Database,
    postgres: TestPostgres,
    secrets: TempDir,
}

impl Shared {
    fn start(database: Database) -> Self {
        let postgres = TestPostgres::start();
        let secrets = tempfile::tempdir().unwrap();
        std::fs::write(secrets.path().join("database"), database.settings().2).unwrap();
        std::fs::write(secrets.path().join("postgres"), postgres.options("").password.unwrap_or_default()).unwrap();
        Self { database, postgres, secrets }
    }

    fn yaml(&self, more: &str) -> String {
        let secret = |name: &str| self.secrets.path().join(name).display().to_string();
        let (engine, url, _) = self.database.settings();
        format!(
            "{{vectorDB: {{engine: {engine}, url: '{url}', apiKey: {{file: {}}}}}, postgres: {{url: '{}', password: \
             {{file: {}}}}}, retrieval: {{maxDistance: 1.1}}{more}}}",
            secret("database"),
            self.postgres.options("").url,
            secret("postgres"),
        )
    }

    /// A server with a data folder of its own.
    async fn server(&self, more: &str) -> Server {
        Server::start(&self.yaml(more)).await
    }
}

async fn ids(server: &Server, query: &str) -> Vec<String> {
    let listed = server.get(&format!("/indexes/docs/documents?{query}")).await.ok();
    listed["documents"].as_array().unwrap().iter().map(|of| of["doc_id"].as_str().unwrap().to_owned()).collect()
}

async fn retrieve(server: &Server, body: Value) -> Vec<Value> {
    let mut whole = json!({"index_name": "docs", "max_node_count": 5});
    whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    server.post("/retrieve", &whole).await.ok()["results"].as_array().unwrap().clone()
}

async fn what_one_server_writes_another_answers_from(database: Database) {
    let shared = Shared::start(database);
    let (one, other) = (shared.server("").await, shared.server("").await);
    one.add("docs", &FACTS).await;
    assert_eq!(other.get("/indexes").await.ok(), json!(["docs"]));
    let question = ask("docs", "When is the annual tax return due?");
    let answer = other.post("/v1/chat/completions", &question).await.ok();
    assert!(answer["source_nodes"].as_array().is_some_and(|nodes| !nodes.is_empty()), "{answer}");
    let first = answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(!first.is_empty());

    let described = other.get("/indexes/docs").await.ok();
    assert_eq!((&described["documents"], &described["vector_index"]), (&json!(FACTS.len()), &json!("HNSW32")));
    assert_eq!(described["data_id"], one.get("/indexes/docs").await.ok()["data_id"]);

    // A deletion through one is in the next answer of the other.
    let found = retrieve(&other, json!({"query": "annual tax return"})).await;
    let doc_id = found[0]["doc_id"].as_str().unwrap().to_owned();
    let deleted = one.post("/indexes/docs/documents/delete", &json!({"doc_ids": [doc_id, "missing"]})).await.ok();
    assert_eq!(deleted, json!({"deleted_doc_ids": [doc_id], "not_found_doc_ids": ["missing"]}));
    for query in [json!({"query": "annual tax return"}), json!({"query": "tax", "pipeline": {"retrieval": "text"}})] {
        let found = retrieve(&other, query).await;
        assert!(found.iter().all(|node| node["doc_id"] != doc_id.as_str()), "{found:?}");
    }

    // An index that is made again under the same name is another one.
    other.delete("/indexes/docs").await.ok();
    one.post("/v1/chat/completions", &question).await.error(404);
    one.add("docs", &[("only", "Only this.")]).await;
    assert_eq!(other.get("/indexes/docs/documents").await.ok()["total_items"], 1);
}

async fn a_list_is_read_page_by_page(database: Database) {
    let shared = Shared::start(database);
    let server = shared.server("").await;
    let document = |number: usize| {
        json!({"doc_id": format!("d{number:02}"), "text": format!("Fact number {number}."),
               "metadata": {"even": number.is_multiple_of(2)}})
    };
    let documents: Vec<Value> = (0..25).map(document).collect();
    server.post("/index", &json!({"index_name": "docs", "documents": documents})).await.ok();
    let expected: Vec<String> = (0..25).map(|number| format!("d{number:02}")).collect();
    for (limit, offset) in [(10, 0), (10, 10), (10, 20), (7, 3), (100, 24), (5, 25), (5, 1000)] {
        let page = ids(&server, &format!("limit={limit}&offset={offset}")).await;
        let expected: Vec<_> = expected.iter().skip(offset).take(limit).cloned().collect();
        assert_eq!(page, expected, "{limit} {offset}");
    }
    let even = ids(&server, "limit=100&metadata_filter={\"even\":true}").await;
    assert_eq!(even.len(), 13);
    let whole = server.get("/indexes/docs/documents/d07").await.ok();
    assert_eq!((&whole["text"], &whole["chunks"][0]["start"]), (&json!("Fact number 7."), &json!(0)));
    server.get("/indexes/docs/documents/none").await.error(404);
    let shown = server.get("/indexes/docs/documents?limit=1&max_text_length=4").await.ok();
    assert_eq!(
        (&shown["documents"][0]["text"], &shown["documents"][0]["is_truncated"]),
        (&json!("Fact"), &json!(true))
    );
}

async fn a_source_has_one_synchronisation_over_all_servers(database: Database) {
    let shared = Shared::start(database);
    let (one, other) = (shared.server("").await, shared.server("").await);
    one.put("/indexes/docs", &json!({})).await.ok();
    let running = |id: &str| json!({"sync_id": id, "phase": "running", "done": 1, "total": 2});
    one.put("/indexes/docs/sources/wiki", &running("a")).await.ok();
    let held = other.put("/indexes/docs/sources/wiki", &running("b")).await.error(409);
    assert!(held.contains("'a'"), "{held}");
    let documents = json!([{"doc_id": "w1", "text": "A page.", "source": "wiki", "revision": "r1"}]);
    one.post("/index", &json!({"index_name": "docs", "documents": documents})).await.ok();
    let complete = json!({"sync_id": "a", "phase": "complete", "done": 1, "total": 1, "revision": "r1"});
    one.put("/indexes/docs/sources/wiki", &complete).await.ok();
    other.put("/indexes/docs/sources/wiki", &running("b")).await.ok();
    let source = one.get("/indexes/docs/sources/wiki").await.ok();
    assert_eq!((&source["documents"], &source["sync"]["sync_id"]), (&json!(1), &json!("b")));
    let unsynchronised = json!([{"text": "Another page.", "source": "by hand"}]);
    one.post("/index", &json!({"index_name": "docs", "documents": unsynchronised})).await.ok();
    let sources = other.get("/indexes/docs/sources").await.ok();
    let names: Vec<_> = sources.as_array().unwrap().iter().map(|of| (&of["name"], &of["documents"])).collect();
    assert_eq!(names, [(&json!("by hand"), &json!(1)), (&json!("wiki"), &json!(1))]);
    one.delete("/indexes/docs/sources/by%20hand").await.ok();
    let listed = other.get("/indexes/docs/sources/wiki/documents").await.ok();
    assert_eq!(listed["documents"][0]["revision"], "r1");
    // A new revision of the same content is kept without embedding it again.
    let mut again = documents.clone();
    again[0]["revision"] = json!("r2");
    one.post("/index", &json!({"index_name": "docs", "documents": again})).await.ok();
    let listed = other.get("/indexes/docs/sources/wiki/documents").await.ok();
    assert_eq!(listed["documents"][0]["revision"], "r2");
    assert_eq!(other.delete("/indexes/docs/sources/wiki").await.ok(), json!({"documents": 1}));
    assert_eq!(one.get("/indexes/docs/sources").await.ok(), json!([]));
}

async fn what_an_external_engine_cannot_do_is_said(database: Database) {
    let shared = Shared::start(database);
    let server = shared.server("").await;
    server.add("docs", &[("fact", "A fact.")]).await;
    for (refused, words) in [
        (server.post("/persist/docs", &json!({})).await, "GET /backup"),
        (server.post("/load/docs", &json!({})).await, "GET /backup"),
        (server.put("/indexes/docs", &json!({"chunking": {"maxTokens": 99}})).await, "make a new index"),
        (server.put("/indexes/other", &json!({"vectorIndex": "SQ8"})).await, "HNSW"),
    ] {
        let message = refused.error(400);
        assert!(message.contains(words), "{message}");
    }
    // The same settings change nothing.
    server.put("/indexes/docs", &json!({})).await.ok();
    assert_eq!(server.get("/indexes").await.ok(), json!(["docs"]), "a refused index is not left behind");
}

/// What retrieval finds of some questions, without the moment.
async fn answers(server: &Server) -> Vec<Vec<(Value, Value)>> {
    let mut answers = Vec::new();
    for (query, retrieval) in [("annual tax return", "dense"), ("cats", "dense"), ("tax", "text"), ("moon", "hybrid")] {
        let found = retrieve(server, json!({"query": query, "pipeline": {"retrieval": retrieval}})).await;
        answers.push(found.iter().map(|node| (node["doc_id"].clone(), node["node_id"].clone())).collect());
    }
    answers
}

async fn an_index_moves_to_the_database_and_back_without_its_texts_being_embedded_again(database: Database) {
    let shared = Shared::start(database);
    let (local, external) = (Server::start("{retrieval: {maxDistance: 1.1}}").await, shared.server("").await);
    local.add("docs", &FACTS).await;
    let paged = json!({"doc_id": "paged", "text": "First page.\u{c}Second page.", "source": "s", "revision": "r1",
        "metadata": {"split_type": "pages", "list": [1, {"a": null}], "title": "Pages"}});
    local.post("/index", &json!({"index_name": "docs", "documents": [paged]})).await.ok();
    local.put("/indexes/docs/sources/s", &json!({"sync_id": "1", "phase": "complete", "revision": "r1"})).await.ok();
    let embedded = |server: &Server| {
        let app = std::sync::Arc::clone(&server.app);
        async move {
            app.metrics
                .render(&[])
                .unwrap()
                .lines()
                .find(|line| line.contains("embedded_texts_total{purpose=\"passage\""))
                .map(str::to_owned)
        }
    };
    let (before, wanted) = (embedded(&external).await, answers(&local).await);

    let migrate = |from: &str, to: &str, more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ragengine"));
        command.args(["migrate", "--index", "docs", "--from", from, "--to", to]).args(more);
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let moved = migrate(&local.url, &external.url, &[]).await.unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    let shown = String::from_utf8_lossy(&moved.stdout).into_owned();
    assert!(shown.contains(&format!("{} documents", FACTS.len() + 1)) && !shown.contains("changed"), "{shown}");
    assert_eq!((answers(&external).await, embedded(&external).await), (wanted.clone(), before));
    for path in
        ["/indexes/docs/documents?limit=100", "/indexes/docs/documents/paged", "/indexes/docs/sources/s/documents"]
    {
        assert_eq!(external.get(path).await.ok(), local.get(path).await.ok(), "{path}");
    }
    assert_eq!(external.get("/indexes/docs/sources/s").await.ok()["sync"]["revision"], "r1");

    // It exists there by now.
    let refused = migrate(&local.url, &external.url, &[]).await.unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--overwrite"), "{refused:?}");
    external.post("/indexes/docs/documents/delete", &json!({"doc_ids": ["paged"]})).await.ok();
    let left = answers(&external).await;
    let back = migrate(&external.url, &local.url, &["--overwrite"]).await.unwrap();
    assert!(back.status.success(), "{}", String::from_utf8_lossy(&back.stderr));
    assert_eq!(local.get("/indexes/docs/documents").await.ok()["total_items"], FACTS.len());
    assert_eq!(answers(&local).await, left);

    // Replaced at once, also for another server.
    let other = shared.server("").await;
    let again = migrate(&local.url, &external.url, &["--overwrite"]).await.unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(other.get("/indexes/docs/documents").await.ok()["total_items"], FACTS.len());
    assert_eq!(answers(&other).await, left);
}

async fn a_damaged_backup_changes_nothing(database: Database) {
    let shared = Shared::start(database);
    let server = shared.server("").await;
    server.add("docs", &FACTS).await;
    let backup = reqwest::get(format!("{}/backup", server.url)).await.unwrap().bytes().await.unwrap();
    let restore = |bytes: Vec<u8>, query: &str| {
        let request = reqwest::Client::new().post(format!("{}/restore{query}", server.url));
        let request = request.header("content-type", "application/x-tar").body(bytes);
        async move { request.send().await.unwrap().status().as_u16() }
    };
    let mut damaged = backup.to_vec();
    let place = damaged.len() / 2;
    damaged[place] ^= 1;
    assert_eq!(restore(damaged, "?overwrite=true").await, 400);
    assert_eq!(restore(backup[..place].to_vec(), "?overwrite=true").await, 400);
    assert_eq!(restore(backup.to_vec(), "").await, 409);
    assert_eq!(server.get("/indexes/docs/documents").await.ok()["total_items"], FACTS.len());
    server.delete("/indexes/docs").await.ok();
    assert_eq!(restore(backup.to_vec(), "").await, 200);
    assert_eq!(server.get("/indexes/docs/documents").await.ok()["total_items"], FACTS.len());
    assert_eq!(server.get("/indexes").await.ok(), json!(["docs"]));
    let left = shared.postgres.sql("SELECT count(*) FROM ragengine_index_catalogue WHERE state <> 'ready'");
    assert_eq!(left.trim(), "0", "what was made of damaged copies is gone");
}

async fn reads_go_on_without_postgres_and_writes_are_refused(database: Database) {
    let mut shared = Shared::start(database);
    let server = shared.server(", cache: {enabled: false}").await;
    server.add("docs", &FACTS).await;
    shared.postgres.kill();
    assert!(!retrieve(&server, json!({"query": "annual tax return"})).await.is_empty());
    let more = json!({"index_name": "docs", "documents": [{"text": "More."}]});
    server.post("/index", &more).await.error(503);
    shared.postgres.restart();
    for attempt in 0.. {
        let reply = server.post("/index", &more).await;
        if reply.status == 200 {
            break;
        }
        assert!(attempt < 300, "{}", reply.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(server.get("/indexes/docs/documents").await.ok()["total_items"], FACTS.len() + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_waits_for_weaviate_and_says_so() {
    let mut shared = Shared::start(Database::weaviate().await);
    let data = tempfile::tempdir().unwrap();
    let yaml = shared.yaml("");
    shared.database.nodes().kill(0);
    let server = Server::start_unloaded(settings(&data, &yaml)).await;
    let app = std::sync::Arc::clone(&server.app);
    let starting = tokio::spawn(async move { ragengine::app::start(&app).await });
    let mut readiness = Value::Null;
    for _ in 0..600 {
        readiness = server.get("/readyz").await.json();
        if readiness["checks"]["indexes"]["detail"].as_str().is_some_and(|detail| detail.contains("cannot be reached"))
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let detail = &readiness["checks"]["indexes"]["detail"];
    assert!(
        detail.as_str().is_some_and(|detail| detail.contains("the vector database cannot be reached")),
        "{readiness}"
    );
    shared.database.nodes().start_again(0).await;
    starting.await.unwrap().unwrap();
    server.add("docs", &[("fact", "A fact.")]).await;
    assert_eq!(server.get("/status").await.ok()["ready"], true);
    let metrics = server.get("/metrics").await.text;
    assert!(
        metrics.contains("ragengine_vector_engine_requests_total{operation=\"write\",outcome=\"done\"}"),
        "{metrics}"
    );
}
