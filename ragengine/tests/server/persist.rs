use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::upstream::text_reply;
use crate::support::{FACTS, Reply, Server, ask, copy_folder, settings};

async fn ids(server: &Server, index: &str) -> Vec<String> {
    let listed = server.get(&format!("/indexes/{index}/documents")).await.ok();
    listed["documents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|document| document["doc_id"].as_str().unwrap().to_owned())
        .collect()
}

async fn post(server: &Server, path: &str) -> Reply {
    server.post_bytes(path, "").await
}

#[tokio::test]
async fn an_index_is_persisted_and_loaded() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, "{}")).await;
    server.add("facts", &FACTS).await;
    let described = server.get("/indexes/facts").await.ok();
    let found = server.found("facts", "How long is a month on the moon?", 2).await;
    let persisted = post(&server, "/persist/facts").await.ok();
    assert_eq!(persisted["message"], "Successfully persisted index facts to facts.");
    server.delete("/indexes/facts").await.ok();
    let loaded = post(&server, "/load/facts").await.ok();
    assert_eq!(loaded["message"], "Successfully loaded index facts from facts.");
    assert_eq!(server.get("/indexes/facts").await.ok(), described);
    assert_eq!(server.found("facts", "How long is a month on the moon?", 2).await, found);
    // The loaded index accepts writes like any other.
    server.add("facts", &[("cats", "Cats have nine lives."), ("more", FACTS[1].1)]).await;
    assert_eq!(ids(&server, "facts").await.len(), 6);
    let refused = post(&server, "/load/facts").await.error(409);
    assert!(refused.contains("'facts' exists") && refused.contains("overwrite=true"), "{refused}");
    // Python clients send `True`.
    for flag in ["True", "true", "1"] {
        post(&server, &format!("/load/facts?overwrite={flag}")).await.ok();
        assert_eq!(ids(&server, "facts").await, FACTS.map(|(doc_id, _)| doc_id));
    }
    post(&server, "/load/facts?overwrite=maybe").await.error(422);
    let metrics = server.get("/metrics").await.text;
    for line in [
        r#"ragengine_copies_total{operation="persist",outcome="ok"} 1"#,
        r#"ragengine_copies_total{operation="load",outcome="ok"} 4"#,
        r#"ragengine_copies_total{operation="load",outcome="index_exists"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn a_copy_has_its_own_name_and_loads_under_any_index_name() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, "{}")).await;
    server.add("facts", &FACTS[..2]).await;
    let persisted = post(&server, "/persist/facts?path=before-the-change").await.ok();
    assert_eq!(persisted["message"], "Successfully persisted index facts to before-the-change.");
    let loaded = post(&server, "/load/other?path=before-the-change").await.ok();
    assert_eq!(loaded["message"], "Successfully loaded index other from before-the-change.");
    assert_eq!(ids(&server, "other").await, ids(&server, "facts").await);
    let missing = post(&server, "/load/facts?path=nothing&overwrite=true").await.error(404);
    assert!(missing.contains("no persisted copy 'nothing'"), "{missing}");
    assert_eq!(post(&server, "/persist/nothing").await.error(404), "No such index: 'nothing' exists.");
    // The error does not reveal where the data folder is.
    std::fs::create_dir(data.path().join("persisted/odd.tar")).unwrap();
    for path in ["/load/odd", "/persist/facts?path=odd"] {
        let odd = post(&server, path).await.error(400);
        assert!(odd.starts_with("persisted/odd.tar in the data folder is not"), "{odd}");
    }
    std::fs::write(data.path().join("persisted/broken.tar"), "x").unwrap();
    let broken = post(&server, "/load/broken").await.error(400);
    assert!(broken.contains("neither a backup nor a persisted index"), "{broken}");
}

/// The status of a request whose target is sent unchanged. An HTTP client would normalise it.
async fn status_of(server: &Server, target: &str) -> u16 {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("POST {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    String::from_utf8_lossy(&reply).split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn no_encoding_of_a_path_leaves_the_folder_of_copies() {
    let outer = tempfile::tempdir().unwrap();
    let mut settings = settings(&outer, "{}");
    settings.data_dir = outer.path().join("data");
    let server = Server::start_in(settings).await;
    server.add("i", &FACTS[..1]).await;
    post(&server, "/persist/i").await.ok();
    let whole = std::fs::read(outer.path().join("data/persisted/i.tar")).unwrap();
    for place in ["i2.tar", "data/i2.tar", "data/i2"] {
        std::fs::write(outer.path().join(place), &whole).unwrap();
    }
    let tree = || {
        let walked = ["", "data", "data/persisted"].map(|folder| {
            let entries = outer.path().join(folder).read_dir().unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        });
        walked.concat()
    };
    let before = tree();
    let absolute = outer.path().join("i2").display().to_string();
    let names = [
        "..%2fi2",
        "..%2Fi2.tar",
        "%2e%2e%2fi2",
        "..%252fi2",
        "..%5ci2",
        "%2e%2e",
        ".",
        "%2e",
        "i2%00",
        "%00",
        "..%c0%afi2",
        "%ef%bc%8e%ef%bc%8e",
        "..%e2%81%84i2",
        "%e2%88%95etc",
        ".hidden",
        "i2%20",
        "i2%0a",
        "a%2fb",
        "-",
        "_i2",
        "%F0%9F%90%88",
    ];
    for name in names.into_iter().chain([
        absolute.replace('/', "%2f").as_str(),
        "../i2",
        "./i2",
        &absolute,
        "x/../../i2",
        "data/i2",
    ]) {
        for target in [
            format!("/persist/i?path={name}"),
            format!("/load/new?path={name}"),
            format!("/load/i?overwrite=true&path={name}"),
        ] {
            assert_eq!(status_of(&server, &target).await, 400, "{target}");
        }
        for target in [format!("/persist/{name}"), format!("/load/{name}"), format!("/load/{name}?path=i")] {
            let status = status_of(&server, &target).await;
            assert!((400..500).contains(&status), "{target}: {status}");
        }
    }
    assert_eq!(status_of(&server, "/load/new?path=").await, 400);
    assert_eq!(server.get("/indexes").await.ok(), json!(["i"]));
    assert_eq!(tree(), before);
}

#[tokio::test]
async fn a_copy_with_vectors_of_another_model_is_never_mixed_with_the_servers() {
    let embedder = RemoteEmbedder::with_width(8).await;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, &embedder.settings("small", ""))).await;
    server.add("i", &FACTS[..1]).await;
    post(&server, "/persist/i").await.ok();
    let other = tempfile::tempdir().unwrap();
    let copies = other.path().join("persisted");
    std::fs::create_dir(&copies).unwrap();
    std::fs::copy(data.path().join("persisted/i.tar"), copies.join("i.tar")).unwrap();
    let server = Server::start_in(settings(&other, "{}")).await;
    post(&server, "/load/i").await.ok();
    // The index answers with the copy's model until it is rebuilt with the server's. A search never mixes their
    // vectors.
    let rebuilt = async {
        loop {
            assert_eq!(server.found("i", FACTS[0].1, 1).await, [FACTS[0].0]);
            if server.get("/indexes/i").await.ok()["model"] == "all-MiniLM-L6-v2" {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), rebuilt).await.unwrap();
    assert_eq!(server.found("i", FACTS[0].1, 1).await, [FACTS[0].0]);
}

/// A copy includes the settings of its model, so it answers at once while the next generation is built.
#[tokio::test]
async fn a_copy_answers_with_its_own_model_until_it_is_rebuilt() {
    let (old, new) = (RemoteEmbedder::with_width(8).await, tempfile::tempdir().unwrap());
    let data = tempfile::tempdir().unwrap();
    let first = Server::start_in(settings(&data, &old.settings("small", ""))).await;
    first.add("i", &FACTS[..2]).await;
    post(&first, "/persist/i").await.ok();
    let backup = reqwest::get(format!("{}/backup", first.url)).await.unwrap().bytes().await.unwrap();
    std::fs::create_dir(new.path().join("persisted")).unwrap();
    std::fs::copy(data.path().join("persisted/i.tar"), new.path().join("persisted/i.tar")).unwrap();
    // The server's own model embeds only the probe, so the next generation is never finished.
    let refusing = RemoteEmbedder::scripted(|inputs| {
        if inputs == ["probe"] {
            reply(&inputs, |text| words(text, 16))
        } else {
            text_reply(400, r#"{"error": {"message": "not now"}}"#)
        }
    });
    let server = Server::start_in(settings(&new, &refusing.await.settings("big", ""))).await;
    post(&server, "/load/loaded?path=i").await.ok();
    server.post_bytes("/restore", backup).await.ok();
    for index in ["loaded", "i"] {
        assert_eq!(server.found(index, FACTS[0].1, 1).await, [FACTS[0].0], "{index}");
        let answer = server.post("/v1/chat/completions", &ask(index, FACTS[1].1)).await.ok();
        assert_eq!(answer["source_nodes"][0]["doc_id"], FACTS[1].0);
        server.add(index, &FACTS[2..3]).await;
        let described = server.get(&format!("/indexes/{index}")).await.ok();
        assert_eq!((&described["model"], &described["next_generation"]["model"]), (&json!("small"), &json!("big")));
    }
}

/// A backup of a server with this embedder and one index of two documents.
async fn backup_of(embedder: &RemoteEmbedder, index: &str) -> Vec<u8> {
    let server = Server::start(&embedder.settings("small", "")).await;
    server.add(index, &FACTS[..2]).await;
    reqwest::get(format!("{}/backup", server.url)).await.unwrap().bytes().await.unwrap().to_vec()
}

/// A copy may name any endpoint for its model. Only its own questions go there, not those of another index whose model
/// has the same name.
#[tokio::test]
async fn the_model_of_a_copy_is_used_for_that_copy_only() {
    let (own, strangers) = (RemoteEmbedder::with_width(8).await, RemoteEmbedder::with_width(8).await);
    let refusing = RemoteEmbedder::scripted(|inputs| {
        if inputs == ["probe"] {
            reply(&inputs, |text| words(text, 16))
        } else {
            text_reply(400, r#"{"error": {"message": "not now"}}"#)
        }
    });
    let yaml = refusing.await.settings("big", "");
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, &yaml)).await;
    for (embedder, index) in [(&own, "a"), (&strangers, "z")] {
        server.post_bytes("/restore", backup_of(embedder, index).await).await.ok();
    }
    let copy = tempfile::tempdir().unwrap();
    copy_folder(data.path(), copy.path());
    let started_again = Server::start_in(settings(&copy, &yaml)).await;
    for server in [&server, &started_again] {
        let before = (own.embedded(), strangers.embedded());
        assert_eq!(server.found("a", FACTS[0].1, 1).await, [FACTS[0].0]);
        assert_eq!((own.embedded(), strangers.embedded()), (before.0 + 1, before.1));
        assert_eq!(server.found("z", FACTS[0].1, 1).await, [FACTS[0].0]);
        assert_eq!((own.embedded(), strangers.embedded()), (before.0 + 1, before.1 + 1));
    }
}
