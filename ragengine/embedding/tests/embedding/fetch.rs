use std::path::Path;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use futures_util::stream;
use ragengine_embedding::Secret;
use ragengine_embedding::files::{Error, Hub, ModelFiles, Weights, locate_or_fetch};
use std::path::PathBuf;

use crate::server::{Seen, Server, not_found};

const MODEL: &str = "organisation/name";
const WEIGHTS: &str = "the weights";

/// A hub with these files of `organisation/name` at `main`.
async fn hub_with(files: &'static [(&'static str, &'static str)]) -> Server {
    Server::start(Vec::new(), move |seen| file(seen, files)).await
}

fn file(seen: &Seen, files: &[(&str, &'static str)]) -> Response<Body> {
    let revision = |rest: &str| rest.split_once('/').map(|(_, name)| name.to_owned());
    let name = seen.path.strip_prefix("/organisation/name/resolve/").and_then(revision).unwrap_or_default();
    match files.iter().find(|(known, _)| **known == name) {
        Some((_, content)) => content.into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

const COMPLETE: &[(&str, &str)] =
    &[("tokenizer.json", "{}"), ("config.json", "{}"), ("1_Pooling/config.json", "{}"), ("onnx/model.onnx", WEIGHTS)];

fn hub(server: &Server) -> Hub {
    Hub { endpoint: server.url.clone(), ..Hub::default() }
}

async fn fetch(models: &Path, hub: &Hub) -> Result<PathBuf, Error> {
    locate_or_fetch(MODEL, &Weights::default(), models, hub, &mut |_| {}).await
}

/// Lists all files below a directory.
fn files_below(directory: &Path) -> Vec<String> {
    fn walk(directory: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(directory, directory, &mut found);
    found.sort();
    found
}

#[tokio::test]
async fn a_model_is_fetched_once() {
    let models = tempfile::tempdir().unwrap();
    let server = hub_with(COMPLETE).await;
    let hub = Hub { token: Some(Secret::new("hf_token")), ..hub(&server) };
    let mut received = Vec::new();
    let place = locate_or_fetch(MODEL, &Weights::default(), models.path(), &hub, &mut |progress| {
        received.push((progress.file.to_owned(), progress.received_bytes, progress.total_bytes));
    })
    .await
    .unwrap();

    assert_eq!(place, models.path().join(MODEL));
    assert_eq!(files_below(models.path()).len(), COMPLETE.len() + 1, "the hashes");
    for (name, content) in COMPLETE {
        assert_eq!(std::fs::read_to_string(place.join(name)).unwrap(), *content);
    }
    assert_eq!(received.last().unwrap(), &("onnx/model.onnx".to_owned(), 11, Some(11)));
    assert!(server.seen().iter().all(|seen| seen.authorization.as_deref() == Some("Bearer hf_token")));

    let asked = server.seen().len();
    assert_eq!(fetch(models.path(), &hub).await.unwrap(), place);
    assert_eq!(server.seen().len(), asked);
}

#[tokio::test]
async fn weights_beside_the_tokenizer_and_in_two_files_are_found() {
    let models = tempfile::tempdir().unwrap();
    let server = hub_with(&[("tokenizer.json", "{}"), ("model.onnx", WEIGHTS), ("model.onnx_data", "more")]).await;
    let place = fetch(models.path(), &hub(&server)).await.unwrap();
    assert_eq!(files_below(&place), ["model.onnx", "model.onnx_data", "ragengine-files.json", "tokenizer.json"]);
    assert_eq!(ModelFiles::at(&place).unwrap().model, place.join("model.onnx"));
}

#[tokio::test]
async fn other_weights_have_a_directory_of_their_own_and_only_they_are_fetched() {
    let models = tempfile::tempdir().unwrap();
    let server =
        hub_with(&[("tokenizer.json", "{}"), ("onnx/model.onnx", WEIGHTS), ("onnx/model_int8.onnx", "small")]).await;
    let weights = Weights::named(Some("onnx/model_int8.onnx")).unwrap();
    let locate = async || locate_or_fetch(MODEL, &weights, models.path(), &hub(&server), &mut |_| {}).await;
    let place = locate().await.unwrap();
    assert_eq!(place, models.path().join("organisation/name+onnx+model_int8.onnx"));
    assert_eq!(files_below(&place), ["onnx/model_int8.onnx", "ragengine-files.json", "tokenizer.json"]);
    let usual = fetch(models.path(), &hub(&server)).await.unwrap();
    assert_eq!(files_below(&usual), ["onnx/model.onnx", "ragengine-files.json", "tokenizer.json"]);

    std::fs::write(place.join("onnx/model_int8.onnx"), "other").unwrap();
    let error = locate().await.unwrap_err();
    assert!(matches!(&error, Error::Changed { what: "has changed", .. }), "{error}");
    let missing = Weights::named(Some("onnx/none.onnx")).unwrap();
    let error = locate_or_fetch(MODEL, &missing, models.path(), &hub(&server), &mut |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("onnx/none.onnx"), "{error}");
}

#[tokio::test]
async fn a_required_file_that_the_hub_lacks_is_named_with_what_to_do() {
    let cases: [(&[(&str, &str)], &str); 2] = [
        (&[("onnx/model.onnx", WEIGHTS)], "tokenizer.json"),
        (&[("tokenizer.json", "{}"), ("config.json", "{}")], "onnx/model.onnx"),
    ];
    for (files, missing) in cases {
        let models = tempfile::tempdir().unwrap();
        let server = hub_with(files).await;
        let error = fetch(models.path(), &hub(&server)).await.unwrap_err();
        let words = error.to_string();
        let place = models.path().join(MODEL).display().to_string();
        for expected in [missing, &place, "embedding.local.modelID", "cannot download"] {
            assert!(words.contains(expected), "{expected}: {words}");
        }
        assert!(files_below(models.path()).is_empty());
    }
}

/// The connection breaks while the weights are sent.
fn broken(seen: &Seen) -> Response<Body> {
    if !seen.path.ends_with("onnx/model.onnx") {
        return file(seen, COMPLETE);
    }
    let pieces = [Ok("the we"), Err(std::io::Error::other("broken"))];
    Response::new(Body::from_stream(stream::iter(pieces)))
}

#[tokio::test]
async fn a_broken_download_leaves_nothing_and_the_next_one_starts_over() {
    let models = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new(), broken).await;
    let error = fetch(models.path(), &hub(&server)).await.unwrap_err();
    assert_eq!(error.kind(), "fetch");
    assert!(files_below(models.path()).is_empty());
    assert!(!models.path().join(MODEL).exists());

    // The directory that a killed process leaves behind.
    let left = models.path().join("organisation/.name.partial");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("vocab.txt"), "old").unwrap();
    let server = hub_with(COMPLETE).await;
    fetch(models.path(), &hub(&server)).await.unwrap();
    assert_eq!(files_below(models.path()).len(), COMPLETE.len() + 1, "the hashes");
}

#[tokio::test]
async fn a_cancelled_download_leaves_nothing() {
    let models = tempfile::tempdir().unwrap();
    let server = Server::start(vec![None], not_found).await;
    let hub = hub(&server);
    let hangs = fetch(models.path(), &hub);
    let seen = async {
        while server.seen().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        result = hangs => panic!("{result:?}"),
        () = seen => {}
    }
    assert_eq!(std::fs::read_dir(models.path().join("organisation")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_directory_without_weights_is_completed() {
    let models = tempfile::tempdir().unwrap();
    let place = models.path().join(MODEL);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("tokenizer.json"), "of another time").unwrap();
    let server = hub_with(COMPLETE).await;
    fetch(models.path(), &hub(&server)).await.unwrap();
    assert_eq!(std::fs::read_to_string(place.join("tokenizer.json")).unwrap(), "{}");
    assert!(ModelFiles::at(&place).is_ok());
}

#[tokio::test]
async fn limits_and_refusals_of_the_hub() {
    let models = tempfile::tempdir().unwrap();
    let server = hub_with(COMPLETE).await;
    let error = fetch(models.path(), &Hub { max_file_bytes: 10, ..hub(&server) }).await.unwrap_err();
    assert!(error.to_string().contains("larger than 10 bytes"), "{error}");

    for (status, words) in [(StatusCode::UNAUTHORIZED, "token"), (StatusCode::BAD_GATEWAY, "502")] {
        let server = Server::start(Vec::new(), move |_| status.into_response()).await;
        let hub = Hub { token: Some(Secret::new("hf_secret")), ..hub(&server) };
        let error = fetch(models.path(), &hub).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!format!("{error} {error:?} {hub:?}").contains("hf_secret"));
    }
    assert!(files_below(models.path()).is_empty());
}

#[tokio::test]
async fn invalid_ids_and_addresses_are_refused_before_a_request_is_sent() {
    let models = tempfile::tempdir().unwrap();
    let server = hub_with(COMPLETE).await;
    let hub = hub(&server);
    for model_id in ["../name", "organisation/..", "a/b/c", "organisation/name?x", "name", ""] {
        let error = locate_or_fetch(model_id, &Weights::default(), models.path(), &hub, &mut |_| {}).await.unwrap_err();
        assert_eq!(error.kind(), "model_id", "{model_id}");
    }
    let wrong = [
        Hub { revision: "../../other".to_owned(), ..hub.clone() },
        Hub { endpoint: "file:///etc".to_owned(), ..hub.clone() },
        Hub { endpoint: "nonsense".to_owned(), ..hub },
    ];
    for hub in wrong {
        assert_eq!(fetch(models.path(), &hub).await.unwrap_err().kind(), "hub", "{hub:?}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_local_directory_is_used_directly() {
    let directory = tempfile::tempdir().unwrap();
    let server = hub_with(COMPLETE).await;
    let id = directory.path().display().to_string();
    let locate =
        async || locate_or_fetch(&id, &Weights::default(), Path::new("/nowhere"), &hub(&server), &mut |_| {}).await;
    assert_eq!(locate().await.unwrap_err().kind(), "missing");
    for (name, content) in [("model.onnx", WEIGHTS), ("tokenizer.json", "{}")] {
        std::fs::write(directory.path().join(name), content).unwrap();
    }
    assert_eq!(locate().await.unwrap(), directory.path());
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn downloaded_files_are_compared_each_time() {
    let cases: [fn(&Path); 3] = [
        |place| std::fs::write(place.join("onnx/model.onnx"), "others").unwrap(),
        |place| std::fs::write(place.join("sentence_bert_config.json"), "{}").unwrap(),
        |place| std::fs::remove_file(place.join("config.json")).unwrap(),
    ];
    for change in cases {
        let models = tempfile::tempdir().unwrap();
        let server = hub_with(COMPLETE).await;
        let place = fetch(models.path(), &hub(&server)).await.unwrap();
        fetch(models.path(), &hub(&server)).await.unwrap();
        change(&place);
        let error = fetch(models.path(), &hub(&server)).await.unwrap_err();
        let words = error.to_string();
        assert_eq!(error.kind(), "changed", "{words}");
        assert!(words.contains("restore the file") && words.contains(&place.display().to_string()), "{words}");
        // As the error message suggests.
        std::fs::remove_file(place.join("ragengine-files.json")).unwrap();
        fetch(models.path(), &hub(&server)).await.unwrap();
    }
}

#[tokio::test]
async fn each_revision_is_downloaded_into_a_separate_directory() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let models = tempfile::tempdir().unwrap();
    let server = hub_with(COMPLETE).await;
    let main = fetch(models.path(), &hub(&server)).await.unwrap();
    let pinned = Hub { revision: commit.to_owned(), ..hub(&server) };
    let before = server.seen().len();
    let place = fetch(models.path(), &pinned).await.unwrap();
    assert_eq!((main, place.clone()), (models.path().join(MODEL), models.path().join(format!("{MODEL}@{commit}"))));
    assert!(server.seen()[before..].iter().all(|seen| seen.path.contains(commit)));
    let asked = server.seen().len();
    assert_eq!((fetch(models.path(), &pinned).await.unwrap(), server.seen().len()), (place, asked));
}

#[tokio::test]
async fn a_hub_that_sends_another_commit_than_the_pinned_one_is_refused() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (sent, is_taken) in [(commit, true), ("fedcba9876543210fedcba9876543210fedcba98", false)] {
        let models = tempfile::tempdir().unwrap();
        let server = Server::start(Vec::new(), move |seen| {
            let mut response = file(seen, COMPLETE);
            response.headers_mut().insert("x-repo-commit", sent.parse().unwrap());
            response
        })
        .await;
        let fetched = fetch(models.path(), &Hub { revision: commit.to_owned(), ..hub(&server) }).await;
        assert_eq!(fetched.is_ok(), is_taken, "{fetched:?}");
        assert_eq!(files_below(models.path()).is_empty(), !is_taken);
    }
}

#[tokio::test]
async fn downloaded_files_are_readable_only_by_their_owner() {
    use std::os::unix::fs::MetadataExt as _;
    let models = tempfile::tempdir().unwrap();
    let server = hub_with(COMPLETE).await;
    fetch(&models.path().join("new"), &hub(&server)).await.unwrap();
    for path in files_below(models.path()) {
        let path = models.path().join(path);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600, "{path:?}");
        let above = path.ancestors().skip(1).take_while(|above| *above != models.path());
        above.for_each(|above| assert_eq!(above.metadata().unwrap().mode() & 0o777, 0o700, "{above:?}"));
    }
}
