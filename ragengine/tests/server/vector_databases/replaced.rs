//! Indexes that are replaced by copies of them.

use std::time::Duration;

use ragengine::access::{Action, Caller};
use ragengine_index::listing::{Page, TextLength};
use ragengine_pipeline::filter::Filter;
use reqwest::StatusCode;
use serde_json::json;

use super::{Database, Shared, ids, retrieve};
use crate::support::{FACTS, Server};

async fn backup(server: &Server) -> Vec<u8> {
    reqwest::get(format!("{}/backup", server.url)).await.unwrap().bytes().await.unwrap().to_vec()
}

/// Replaces the indexes by those of a backup.
async fn restore(server: &Server, backup: Vec<u8>) -> StatusCode {
    let request = reqwest::Client::new().post(format!("{}/restore?overwrite=true", server.url));
    request.header("content-type", "application/x-tar").body(backup).send().await.unwrap().status()
}

/// A commit that publishes an index takes longer than the server waits for it.
const LATE_COMMITS: &str = "
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON ragengine_index_catalogue DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (OLD.state = 'staging' AND NEW.state = 'ready') EXECUTE FUNCTION late()";

pub async fn an_index_that_is_published_late_stays(database: Database) {
    let shared = Shared::start(database);
    let server = shared.server(", cache: {enabled: false}").await;
    server.add("docs", &FACTS[..2]).await;
    let backup = backup(&server).await;
    server.add("docs", &FACTS).await;
    shared.postgres.sql(LATE_COMMITS);
    assert_eq!(restore(&server, backup).await, StatusCode::SERVICE_UNAVAILABLE);
    // It is published, and the one before is not shown any more.
    let mut attempts = 0..100;
    while server.get("/indexes/docs/documents").await.json()["total_items"] != 2 {
        assert!(attempts.next().is_some(), "the index is not shown, or its documents are gone");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // What was asked to delete it has ended by now.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(ids(&server, "limit=9").await.len(), 2);
    assert!(!retrieve(&server, json!({"query": FACTS[0].1})).await.is_empty());
}

/// The kinds of errors of requests to an index.
async fn kinds_of_errors(index: &ragengine_engine::Index) -> [&'static str; 4] {
    let (everything, source) = (Filter::default(), "s".to_owned());
    let page = Page { limit: 9, offset: 0 };
    let put = serde_json::from_value(json!({"sync_id": "1", "phase": "complete"})).unwrap();
    [
        index.version().await.unwrap_err().kind(),
        index.list(everything, page, TextLength { each: 9, together: 9 }).await.unwrap_err().kind(),
        index.delete(["cats".to_owned()].into()).await.unwrap_err().kind(),
        index.put_sync(source, put).await.unwrap_err().kind(),
    ]
}

pub async fn a_request_to_a_replaced_index_does_not_take_it_for_deleted(database: Database) {
    let shared = Shared::start(database);
    let (one, other) = (shared.server("").await, shared.server("").await);
    one.add("docs", &FACTS).await;
    let index = other.app.loaded().unwrap().index(&Caller::writer(), Action::Read, "docs").await.unwrap();
    assert_eq!(index.version().await.unwrap().map(|_| ()), Some(()));
    let backup = backup(&one).await;
    assert_eq!(restore(&one, backup).await, StatusCode::OK);
    assert_eq!(kinds_of_errors(&index).await, ["superseded"; 4]);
    one.delete("/indexes/docs").await.ok();
    assert_eq!(kinds_of_errors(&index).await, ["no_such_index"; 4]);
}
