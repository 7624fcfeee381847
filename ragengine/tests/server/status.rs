use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ragengine::app::start;
use ragengine_client::Client;
use ragengine_client::wire::{EngineStatus, Problem, ProblemKind};

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::upstream::text_reply;
use crate::support::{FACTS, Server, settings};

async fn status(server: &Server) -> EngineStatus {
    Client::direct(&server.url).unwrap().status().await.unwrap()
}

fn kinds(status: &EngineStatus) -> Vec<ProblemKind> {
    status.problems.iter().map(|problem| problem.kind).collect()
}

/// Waits up to 60 s for a problem of this kind, and returns it.
async fn wait_for(server: &Server, kind: ProblemKind) -> Problem {
    for _ in 0..3000 {
        let problem = status(server).await.problems.into_iter().find(|problem| problem.kind == kind);
        if let Some(problem) = problem {
            return problem;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no problem {kind:?} in time: {:?}", status(server).await);
}

/// Checks that `/readyz` reports the same problems.
async fn agrees_with_readiness(server: &Server, status: &EngineStatus) {
    let readiness = Client::direct(&server.url).unwrap().readiness().await.unwrap();
    assert_eq!(readiness.ready, status.ready);
    let missing: Vec<String> =
        readiness.checks.into_values().filter(|check| !check.ready).map(|check| check.detail).collect();
    assert_eq!(missing.len(), status.problems.len());
    assert!(status.problems.iter().all(|problem| missing.contains(&problem.detail)), "{missing:?} {status:?}");
}

#[tokio::test]
async fn the_status_reports_loading_and_then_the_contents() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_unloaded(settings(&data, "{}")).await;
    let loading = status(&server).await;
    assert_eq!(kinds(&loading), [ProblemKind::LoadingIndexes, ProblemKind::LoadingModel]);
    assert_eq!(EngineStatus { problems: Vec::new(), ..loading.clone() }, EngineStatus::default());
    agrees_with_readiness(&server, &loading).await;
    start(&server.app).await.unwrap();
    server.add("one", &FACTS).await;
    server.add("two", &FACTS[..2]).await;
    let described = server.get("/indexes/one").await.ok();
    let loaded = status(&server).await;
    let data_id = described["data_id"].as_str().map(str::to_owned);
    assert!(data_id.is_some());
    let expected =
        EngineStatus { ready: true, data_id, indexes: 2, documents: 7, chunks: 7, ..EngineStatus::default() };
    assert_eq!(loaded, expected);
    agrees_with_readiness(&server, &loaded).await;
}

#[tokio::test]
async fn a_full_volume_is_reported() {
    let data = tempfile::tempdir().unwrap();
    // The file with which the server probes the volume points to a device that is always full.
    symlink("/dev/full", data.path().join(".writable")).unwrap();
    let server = Server::start_in(settings(&data, "{}")).await;
    let full = status(&server).await;
    assert_eq!((full.ready, kinds(&full)), (true, vec![ProblemKind::VolumeFull]), "a server on a full volume is ready");
    assert!(full.problems[0].detail.contains("the disk is full"), "{full:?}");
    assert!(full.data_id.is_some());
    agrees_with_readiness(&server, &full).await;
}

#[tokio::test]
async fn an_unusable_data_folder_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(&folder, "{}");
    settings.data_dir = folder.path().join("data");
    std::fs::write(&settings.data_dir, "not a folder").unwrap();
    let server = Server::start_unloaded(settings).await;
    let app = Arc::clone(&server.app);
    tokio::spawn(async move { start(&app).await });
    let failed = wait_for(&server, ProblemKind::IndexesFailed).await;
    assert!(failed.detail.contains("the disk failed"), "{failed:?}");
    assert_eq!(kinds(&status(&server).await)[0], ProblemKind::VolumeFailed);
}

#[tokio::test]
async fn a_model_that_cannot_be_downloaded_is_reported() {
    let data = tempfile::tempdir().unwrap();
    let mut settings = settings(&data, "{}");
    let local = settings.embedding.local.as_mut().unwrap();
    local.model_id = "missing/model".into();
    local.hub_url = "http://127.0.0.1:9".into();
    let server = Server::start_unloaded(settings).await;
    let app = Arc::clone(&server.app);
    tokio::spawn(async move { start(&app).await });
    let failed = wait_for(&server, ProblemKind::EmbeddingModelFailed).await;
    assert!(failed.detail.contains("missing/model"), "{failed:?}");
    agrees_with_readiness(&server, &status(&server).await).await;
}

#[tokio::test]
async fn a_refusing_embedding_endpoint_is_reported_until_it_answers() {
    let is_well = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_well);
    let embedder = RemoteEmbedder::scripted(move |inputs| {
        if asked.load(Ordering::Relaxed) {
            reply(&inputs, |text| words(text, 8))
        } else {
            text_reply(401, r#"{"error": {"message": "no such key"}}"#)
        }
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_unloaded(settings(&data, &embedder.settings("m", ""))).await;
    let app = Arc::clone(&server.app);
    let loading = tokio::spawn(async move { start(&app).await });
    let failed = wait_for(&server, ProblemKind::EmbeddingServiceFailed).await;
    assert!(failed.detail.contains("401: no such key"), "{failed:?}");
    // The server retries the endpoint until it answers.
    is_well.store(true, Ordering::Relaxed);
    loading.await.unwrap().unwrap();
    let well = status(&server).await;
    assert_eq!((well.ready, kinds(&well)), (true, Vec::new()));
}

/// Vectors of a changed model could not be compared with the stored ones.
#[tokio::test]
async fn a_model_whose_files_changed_after_the_download_is_reported() {
    let data = tempfile::tempdir().unwrap();
    let place = data.path().join("models/organisation/name");
    crate::support::copy_folder(&crate::support::model_directory(), &place);
    let mut settings = settings(&data, "{}");
    let local = settings.embedding.local.as_mut().unwrap();
    local.model_id = "organisation/name".into();
    local.hub_url = "http://127.0.0.1:9".into();
    // The first start records the hashes of files that are already there.
    drop(Server::start_in(settings.clone()).await);
    let config = place.join("config.json");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text} ")).unwrap();
    let another = tempfile::tempdir().unwrap();
    crate::support::copy_folder(&data.path().join("models"), &another.path().join("models"));
    settings.data_dir = another.path().to_owned();
    let server = Server::start_unloaded(settings).await;
    let app = Arc::clone(&server.app);
    tokio::spawn(async move { start(&app).await });
    let failed = wait_for(&server, ProblemKind::EmbeddingModelFailed).await;
    for said in ["config.json has changed", "since the model was downloaded", "restore the file"] {
        assert!(failed.detail.contains(said), "{said}: {failed:?}");
    }
}
