//! Votes and interactions in PostgreSQL, which is killed and started again.

#[path = "../../stores/tests/stores/test_postgres.rs"]
#[expect(dead_code, reason = "the tests of the stores use the rest")]
pub(crate) mod test_postgres;

use std::time::Duration;

use ragengine::app::{App, StartError, start};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::test_postgres::TestPostgres;
use crate::support::{FACTS, Reply, Server, ask, outcome, settings};

/// Settings with all stores in the database.
fn yaml(postgres: &TestPostgres, data: &TempDir, namespace: &str) -> String {
    let options = postgres.options(namespace);
    let password = data.path().join("password");
    std::fs::write(&password, options.password.unwrap_or_default()).unwrap();
    format!(
        "{{stateNamespace: {namespace}, postgres: {{url: '{}', password: {{file: {}}}}}, retrieval: {{maxDistance: 4}}, \
         feedback: {{store: postgres}}, endpoints: {{completions: {{feedback: true}}}}}}",
        options.url,
        password.display()
    )
}

async fn chat(server: &Server) -> Reply {
    let mut body = ask("docs", "When is the annual tax return due?");
    body["explain"] = json!(true);
    server.post("/v1/chat/completions", &body).await
}

fn vote(reply: &Reply) -> Value {
    json!({"answer_id": reply.headers["x-answer-id"].to_str().unwrap(), "rating": "up"})
}

async fn has_problem(server: &Server) -> bool {
    let status = server.get("/status").await.ok();
    assert_eq!(status["ready"], true);
    status["problems"].as_array().unwrap().iter().any(|problem| problem["kind"] == "postgres_failed")
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_go_on_without_the_database_and_it_is_used_again_by_itself() {
    let (mut postgres, data) = (TestPostgres::start(), tempfile::tempdir().unwrap());
    let server = Server::start_in(settings(&data, &yaml(&postgres, &data, "team-a"))).await;
    server.add("docs", &FACTS).await;
    let first = vote(&chat(&server).await);
    server.post("/feedback", &first).await.ok();
    assert_eq!(
        (outcome(&chat(&server).await.ok(), "feedback"), has_problem(&server).await),
        ("done".to_owned(), false)
    );
    assert!(!data.path().join("state.redb").exists());

    postgres.kill();
    let reply = chat(&server).await;
    assert!(["failed", "timeout"].contains(&outcome(&reply.ok(), "feedback").as_str()), "{}", reply.text);
    let refused = server.post("/feedback", &first).await;
    assert!(refused.error(503).contains("database"), "{}", refused.text);
    assert!(has_problem(&server).await);

    postgres.restart();
    for _ in 0..600 {
        if !has_problem(&server).await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(server.get("/feedback").await.ok()["total_items"], 1);
    assert_eq!(outcome(&chat(&server).await.ok(), "feedback"), "done");

    // Another server has its own votes in the same database.
    let other_data = tempfile::tempdir().unwrap();
    let other = Server::start_in(settings(&other_data, &yaml(&postgres, &other_data, "team-b"))).await;
    assert_eq!(other.get("/feedback").await.ok()["total_items"], 0);
    other.post("/feedback", &first).await.error(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_start_on_a_newer_schema() {
    let (postgres, data) = (TestPostgres::start(), tempfile::tempdir().unwrap());
    let settings = settings(&data, &yaml(&postgres, &data, "default"));
    drop(Server::start_in(settings.clone()).await);
    postgres.sql(
        "INSERT INTO ragengine_migration (version, description, success, checksum, execution_time) \
         VALUES (1000, 'later', true, '', 0)",
    );
    let later = tempfile::tempdir().unwrap();
    let app = App::new(ragengine_settings::Settings { data_dir: later.path().to_owned(), ..settings }).unwrap();
    let error = start(&app).await.unwrap_err();
    assert!(matches!(error, StartError::NewerStore(_)), "{error}");
    assert!(error.to_string().contains("newer version"), "{error}");
}

#[tokio::test]
async fn a_damaged_file_is_named_and_stays() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("state.redb");
    std::fs::write(&file, "not a database").unwrap();
    let server = Server::start_unloaded(settings(&data, "")).await;
    let app = server.app.clone();
    let starting = tokio::spawn(async move { start(&app).await });
    let reason = loop {
        let text = server.get("/readyz").await.text;
        if text.contains("state.redb") {
            break text;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    starting.abort();
    assert!(reason.contains("is damaged") && reason.contains("Nothing was deleted"), "{reason}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a database");
}
