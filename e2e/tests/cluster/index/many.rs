//! Many files in one source.

use ragengine_e2e::changes::Changes;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, embedded_texts, engine_metrics, paths, set};
use ragengine_e2e::metrics::Metrics;
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_e2e::source::Git;
use serde_json::json;

use super::{of_source, secret};

const FILES: usize = 2000;

#[tokio::test]
async fn a_second_synchronisation_of_2000_files_sends_nothing() {
    in_namespace("index-many", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let git = Git::start(namespace, "password").await?;
        secret(namespace, "git", &git.credentials("password").await?).await?;
        let texts = |numbers: std::ops::Range<usize>| {
            Changes::texts(
                numbers.map(|number| (format!("{:02}/{number:04}.md", number % 50), format!("Planet {number}."))),
            )
        };
        let first = git.commit(&texts(0..FILES)).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let repository = json!({"name": "git", "git": {"url": git.url(), "accessSecret": "git"}});
        let index = Index::start(namespace, "planets", &of_source("docs", &repository)).await?;
        let status = index.object().await?.status.unwrap();
        assert_eq!((status.documents, status.revision.as_deref()), (Some(FILES as u64), Some(&first[..12])));

        let before = engine_metrics(&engine).await?;
        assert_eq!(embedded_texts(&before), FILES as f64);
        index.sync().await?;
        let after = engine_metrics(&engine).await?;
        assert_eq!(sent(&after), sent(&before));
        assert_eq!(embedded_texts(&after), embedded_texts(&before));

        // One more file adds one document.
        let second = git.commit(&texts(FILES..FILES + 1)).await?;
        let synced = index.sync().await?.status.unwrap();
        let last = engine_metrics(&engine).await?;
        assert_eq!((sent(&last), embedded_texts(&last)), (sent(&after) + 1.0, embedded_texts(&after) + 1.0));
        assert_eq!((synced.documents, synced.revision.as_deref()), (Some(FILES as u64 + 1), Some(&second[..12])));
        let wanted = (0..=FILES).map(|number| format!("{:02}/{number:04}.md", number % 50));
        assert_eq!(paths(&engine, "planets", "planets.git").await?, set(wanted));
        Ok(())
    })
    .await;
}

/// The number of requests that write or delete documents.
fn sent(metrics: &Metrics) -> f64 {
    let writes = ["POST", "DELETE"].map(|method| metrics.sum("ragengine_http_requests_total", &[("method", method)]));
    writes.iter().sum()
}
