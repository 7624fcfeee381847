use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::server::{PORT, SERVER, Server, Volume, documents, question};
use ragengine_e2e::{cluster_client, logs, wait};
use serde_json::Value;

#[tokio::test]
async fn every_line_of_the_log_is_json() {
    in_namespace("logs", async |namespace| {
        let server = Server::start(namespace, Volume::Ephemeral).await?;
        let pod = server.ready_pod().await?;
        server
            .post(&pod, "/index", &documents("docs", &[("a", "First line.\nSecond line, with a \"quote\".")]))
            .await?
            .ok()?;
        server.post(&pod, "/v1/chat/completions", &question("docs", "Which line\nhas a \"quote\"?")).await?.ok()?;
        assert_eq!(server.get(&pod, "/indexes/nowhere").await?.status, 404);

        let name = pod.metadata.name.as_deref().unwrap();
        let text = wait::until("the refused request is in the log", async || {
            let text = logs::of(server.pods(), name, SERVER).await.map_err(|error| error.to_string())?;
            if text.contains("no_such_index") { Ok(text) } else { Err(text) }
        });
        let text = text.await?;
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(["INFO", "WARN", "ERROR"].contains(&entry["level"].as_str().unwrap()), "{line}");
            assert!(entry["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
            assert!(!entry["message"].as_str().unwrap().is_empty(), "{line}");
        }
        for message in ["listening", "embedding model loaded", "ready", "chat"] {
            assert!(text.lines().any(|line| line.contains(&format!("\"message\":\"{message}\""))), "{message}: {text}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn metrics_are_scraped_over_the_pod_network() {
    in_namespace("metrics", async |namespace| {
        let server = Server::start(namespace, Volume::Ephemeral).await?;
        let pod = server.ready_pod().await?;
        server.post(&pod, "/index", &documents("docs", &[("a", "A text."), ("b", "Another.")])).await?.ok()?;

        let address = pod.status.as_ref().unwrap().pod_ip.as_deref().unwrap();
        // IPv6 addresses need brackets in URLs.
        let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        let scraped = cluster_client::get(namespace, &format!("http://{host}:{PORT}/metrics")).await?;
        assert_eq!(scraped.status, 200, "{}", scraped.text);
        for line in [
            "ragengine_index_documents{index=\"docs\"} 2",
            "ragengine_http_requests_total{method=\"POST\",route=\"/index\",status=\"200\"} 1",
        ] {
            assert!(scraped.text.lines().any(|scraped| scraped == line), "{line} is not in\n{}", scraped.text);
        }
        Ok(())
    })
    .await;
}
