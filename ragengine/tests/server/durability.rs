use ragengine_client::Client;
use ragengine_client::wire::Document;

use crate::support::FACTS;
use crate::support::process::{Process, startup_error};

fn documents(texts: &[(&str, &str)]) -> Vec<Document> {
    let document = |(doc_id, text): &(&str, &str)| Document {
        doc_id: Some((*doc_id).to_owned()),
        text: (*text).to_owned(),
        ..Document::default()
    };
    texts.iter().map(document).collect()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    drop(rustls::crypto::ring::default_provider().install_default());
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn get(url: &str) -> serde_json::Value {
    run(async { reqwest::get(url).await.unwrap().json().await.unwrap() })
}

/// The document ids and texts of all chunks, the best match first.
async fn retrieve(url: &str, query: &str) -> Vec<(String, String)> {
    let body = serde_json::json!({"index_name": "kept", "query": query, "max_node_count": 300});
    let reply = reqwest::Client::new().post(format!("{url}/retrieve")).json(&body).send().await.unwrap();
    let reply: serde_json::Value = reply.json().await.unwrap();
    let text = |node: &serde_json::Value, field: &str| node[field].as_str().unwrap().to_owned();
    reply["results"].as_array().unwrap().iter().map(|node| (text(node, "doc_id"), text(node, "text"))).collect()
}

#[test]
fn a_request_is_one_line_of_json_in_the_log() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Process::start(data.path());
    run(async {
        let http = reqwest::Client::new();
        http.get(format!("{}/indexes", server.url)).header("x-request-id", "good-1").send().await.unwrap();
        http.get(format!("{}/indexes/nowhere", server.url)).header("x-request-id", "bad-1").send().await.unwrap();
    });
    let (good, bad) = server.wait_until("has logged both", |server| {
        let lines = server.log_lines();
        let of = |id: &str| lines.iter().filter(|line| line["request_id"] == id).cloned().collect::<Vec<_>>();
        let (good, bad) = (of("good-1"), of("bad-1"));
        (!good.is_empty() && !bad.is_empty()).then_some((good, bad))
    });
    assert_eq!((good.len(), bad.len()), (1, 1));
    assert_eq!(
        (&good[0]["route"], &good[0]["status"], &good[0]["level"]),
        (&"/indexes".into(), &200.into(), &"INFO".into())
    );
    assert!(good[0]["elapsed_ms"].is_number());
    assert_eq!(
        (&bad[0]["kind"], &bad[0]["error"]),
        (&"no_such_index".into(), &"32 bytes (log.texts: true shows them)".into())
    );
}

#[test]
fn a_chat_is_one_log_line_with_the_selected_chunks_and_no_text() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Process::start(data.path());
    let reply = run(async {
        Client::new(&server.url).unwrap().add("docs", documents(&FACTS)).await.unwrap();
        let ask = |question: &str| {
            let body = serde_json::json!({"index_name": "docs", "messages": [{"role": "user", "content": question}]});
            let request = reqwest::Client::new().post(format!("{}/v1/chat/completions", server.url));
            request.header("x-request-id", "chat-1").json(&body).send()
        };
        ask("The annual tax return is due on the last day of May.")
            .await
            .unwrap()
            .json::<serde_json::Value>()
            .await
            .unwrap()
    });
    let lines = server.wait_until("has logged the chat", |server| {
        let lines: Vec<_> = server.log_lines().into_iter().filter(|line| line["request_id"] == "chat-1").collect();
        (!lines.is_empty()).then_some(lines)
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[0];
    for (field, expected) in [
        ("message", "chat"),
        ("outcome", "ok"),
        ("path", "rag"),
        ("reason", ""),
        ("index", "docs"),
        ("tokenizer", "embedding"),
    ] {
        assert_eq!(line[field], expected, "{line}");
    }
    let source = &reply["source_nodes"][0];
    let selected = line["selected"].as_str().unwrap();
    assert!(selected.starts_with(source["node_id"].as_str().unwrap()), "{selected}");
    assert!(selected.contains(&format!(" {:.4} ", source["score"].as_f64().unwrap())), "{selected}");
    for number in [
        "window_tokens",
        "conversation_tokens",
        "context_budget_tokens",
        "context_used_tokens",
        "prompt_tokens",
        "elapsed_ms",
    ] {
        assert!(line[number].is_number(), "{number}: {line}");
    }
    assert!(!line.to_string().contains("tax return"), "{line}");
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path());
    run(async {
        let client = Client::new(&server.url).unwrap();
        client.add("kept", documents(&FACTS)).await.unwrap();
        client.add("kept", documents(&[("cats", "Cats have nine lives.")])).await.unwrap();
        client.delete("kept", vec!["tax".into()]).await.unwrap();
        client.add("gone", documents(&FACTS[..1])).await.unwrap();
        reqwest::Client::new().delete(format!("{}/indexes/gone", server.url)).send().await.unwrap();
    });
    server.kill();
    let server = Process::start(data.path());
    assert_eq!(get(&format!("{}/indexes", server.url)), serde_json::json!(["kept"]));
    let listed = get(&format!("{}/indexes/kept/documents", server.url));
    let ids: Vec<&str> =
        listed["documents"].as_array().unwrap().iter().map(|document| document["doc_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["cats", "ships", "bread", "moon"]);
    assert_eq!(listed["documents"][0]["text"], "Cats have nine lives.");
    // The restarted server fills FAISS from the store: searches find the updated text and not the deleted document.
    let found = run(retrieve(&server.url, "How many lives does a cat have?"));
    assert_eq!(found[0], ("cats".to_owned(), "Cats have nine lives.".to_owned()));
    assert!(
        found.len() == 4 && found.iter().all(|(doc_id, text)| doc_id != "tax" && !text.contains("purrs")),
        "{found:?}"
    );
    // A kill right after a write loses nothing either.
    run(async {
        Client::new(&server.url).unwrap().add("kept", documents(&[("late", "The last one.")])).await.unwrap()
    });
    server.kill();
    let server = Process::start(data.path());
    assert_eq!(get(&format!("{}/indexes/kept", server.url))["documents"], 5);
}

#[test]
fn a_second_server_on_a_data_folder_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path());
    let said = startup_error(data.path());
    assert!(said.contains("in use by another process") && said.contains("DATA_DIR"), "{said}");
    assert!(said.contains(&format!("(process {} on host ", server.id())), "{said}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_port_in_use_is_reported() {
    let data = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output = crate::support::process::program()
        .args(["serve"])
        .env("LISTEN", taken.local_addr().unwrap().to_string())
        .env("DATA_DIR", data.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("cannot listen on") && said.contains("LISTEN"), "{said}");
}

#[test]
fn a_server_that_cannot_create_its_data_folder_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::write(&data, "not a folder").unwrap();
    let mut server = Process::start_unready(&data);
    let ready = server.wait_until("says why it is not ready", |server| {
        let ready = get(&format!("{}/readyz", server.url));
        ready["checks"]["indexes"]["detail"].as_str().unwrap().contains("the disk failed").then_some(ready)
    });
    assert_eq!(ready["ready"], false);
    assert!(ready["checks"]["volume"]["detail"].as_str().unwrap().contains("cannot be written"), "{ready}");
    assert_eq!(get(&format!("{}/health", server.url))["status"], "Unhealthy");
}
