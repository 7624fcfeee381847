//! Every driver checks the permission of its caller, in addition to the middleware.

use axum::http::HeaderMap;
use ragengine::access::{Action, Caller, authenticate};
use ragengine::error::ApiError;
use ragengine_index::IndexError;
use ragengine_index::generation::RequestedSettings;
use ragengine_index::writer::Mode;
use serde_json::json;

use crate::support::{FACTS, Server};

/// A server with an index `docs` that requires a token for writes.
async fn server() -> Server {
    let data = tempfile::tempdir().unwrap();
    let open = Server::start_in(crate::support::settings(&data, "")).await;
    open.add("docs", &FACTS).await;
    drop(open);
    let copy = tempfile::tempdir().unwrap();
    crate::support::copy_folder(data.path(), copy.path());
    let token = copy.path().join("token");
    std::fs::write(&token, "secret").unwrap();
    let yaml = format!("auth: {{writeToken: {{file: {}}}}}", token.display());
    Server::start_in(crate::support::settings(&copy, &yaml)).await
}

fn is_refused<T>(result: Result<T, ApiError>) -> bool {
    result.err().is_some_and(|error| error.status() == 401)
}

#[tokio::test]
async fn a_caller_without_the_token_changes_nothing_through_any_driver() {
    let server = server().await;
    let stranger = authenticate(&server.app, &HeaderMap::new()).await;
    let loaded = server.app.loaded().unwrap();
    let generations = &loaded.generations;
    assert!(loaded.index(&stranger, Action::Read, "docs").await.is_ok());
    for action in [Action::Write, Action::Copy] {
        assert!(is_refused(loaded.index(&stranger, action, "docs").await));
        assert!(
            is_refused(loaded.index(&stranger, action, "nowhere").await),
            "the error must not reveal whether the index exists"
        );
    }
    let index = loaded.index(&Caller::writer(), Action::Write, "docs").await.unwrap();
    let wanted = RequestedSettings::new(&serde_json::from_value(json!({})).unwrap(), None);
    // Its error differs from the expected one, so the test fails if a driver calls it.
    let never = |_| std::future::ready(Err::<(), _>(IndexError::ShuttingDown));
    assert!(is_refused(generations.with(&stranger, "docs", never).await));
    assert!(is_refused(generations.write(&stranger, "docs", &[], Mode::Upsert).await));
    assert!(is_refused(generations.add(&stranger, "new", index.record(), &[]).await));
    assert!(is_refused(generations.ask(&stranger, "docs", wanted).await));
    assert!(is_refused(generations.begin(&stranger, "docs").await));
    assert!(is_refused(generations.abandon(&stranger, "docs").await));
    assert_eq!(server.get("/indexes").await.ok(), json!(["docs"]));
}
