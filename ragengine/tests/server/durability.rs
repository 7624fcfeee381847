use ragengine_client::Client;
use ragengine_client::wire::Document;

use crate::support::FACTS;
use crate::support::process::{Process, refusal};

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

#[test]
fn what_was_acknowledged_outlives_a_kill() {
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
    // Written to again, and killed again without a pause.
    run(async {
        Client::new(&server.url).unwrap().add("kept", documents(&[("late", "The last one.")])).await.unwrap()
    });
    server.kill();
    let server = Process::start(data.path());
    assert_eq!(get(&format!("{}/indexes/kept", server.url))["documents"], 5);
}

#[test]
fn a_folder_has_one_server_and_the_second_says_so() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path());
    let said = refusal(data.path());
    assert!(said.contains("in use by another process") && said.contains("DATA_DIR"), "{said}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_port_in_use_is_told() {
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
fn a_read_only_data_folder_is_not_ready_and_says_why() {
    // Root may write anywhere: only a file in the place of the folder stops it as it would stop others.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::write(&data, "not a folder").unwrap();
    let port = crate::support::process::free_port();
    let mut child = crate::support::process::program()
        .arg("serve")
        .env("LISTEN", format!("127.0.0.1:{port}"))
        .env("DATA_DIR", &data)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let ready = run(async {
        for _ in 0..500 {
            if let Ok(response) = reqwest::get(format!("http://127.0.0.1:{port}/readyz")).await {
                let body: serde_json::Value = response.json().await.unwrap();
                if body["checks"]["indexes"]["detail"].as_str().unwrap().contains("refused") {
                    return body;
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("it never said why it is not ready");
    });
    assert_eq!(ready["ready"], false);
    assert!(ready["checks"]["volume"]["detail"].as_str().unwrap().contains("cannot be written"), "{ready}");
    child.kill().unwrap();
    child.wait().unwrap();
}
