use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Server};

/// The official client in Python, which `make setup` installs, against both kinds of language model.
#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_works() {
    let python = std::env::var("RAGENGINE_PYTHON").expect("RAGENGINE_PYTHON is not set: use `make test`");
    let upstream = Upstream::scripted(|body| match (body["model"].as_str(), body["stream"].as_bool()) {
        (Some("limited"), _) => json_reply(
            429,
            &json!({"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit"}}),
        ),
        (_, Some(true)) => {
            event_reply([delta("Hel"), delta("lo."), finish(), "data: [DONE]\n\n".to_owned()].map(Ok).into())
        }
        _ => json_reply(200, &completion("Hello.")),
    })
    .await;
    let with_upstream = Server::start(&upstream.settings()).await;
    let extractive = Server::shared();
    with_upstream.add("client", &FACTS).await;
    extractive.add("client", &FACTS).await;
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openai_client");
    let mut pytest = Command::new(python);
    pytest
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(tests)
        .env("UPSTREAM_SERVER", &with_upstream.url)
        .env("EXTRACTIVE_SERVER", &extractive.url)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = tokio::task::spawn_blocking(move || pytest.output().unwrap()).await.unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
