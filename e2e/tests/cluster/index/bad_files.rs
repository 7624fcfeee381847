//! A source with broken files, files that are too large, and links to other places, beside good files.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use ragengine_e2e::Error;
use ragengine_e2e::changes::{Changes, Content};
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, condition, paths, set, source};
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::source::{Claim, Git};
use ragengine_operator_api::{ConditionStatus, ConditionType, Reason};
use serde_json::json;

use super::{pdf, secret};

const LARGE_BYTES: usize = 200 << 20;

/// The expected error of each bad file, by its path.
const WRONG: [(&str, &str); 4] =
    [("bomb.pdf", "memory"), ("broken.pdf", ""), ("huge.txt", "larger than"), ("latin.md", "not text")];

#[tokio::test]
async fn bad_files_are_reported_with_their_paths_and_the_others_are_indexed() {
    in_namespace("index-bad-files", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let (git, claim) = tokio::try_join!(Git::start(namespace, "password"), Claim::start(namespace))?;
        secret(namespace, "git", &git.credentials("password").await?).await?;
        claim.change(&files()).await?;
        git.commit(&files().and_put("module", Content::Submodule("1".repeat(40)))).await?;

        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let spec = json!({"engineRef": {"name": "docs"}, "sources": [
            {"name": "git", "git": {"url": git.url(), "accessSecret": "git"}},
            {"name": "volume", "persistentVolumeClaim": {"name": Claim::NAME}},
        ]});
        let index = Index::start(namespace, "files", &spec).await?;
        let observed = index.until(ConditionType::Degraded, ConditionStatus::True, Reason::FilesFailed).await?;
        let message = &condition(&observed, ConditionType::Degraded).unwrap().message;
        assert!(message.contains("8 files") && message.contains("bomb.pdf"), "{message}");
        for name in ["git", "volume"] {
            assert_eq!(paths(&engine, "files", &format!("files.{name}")).await?, set(["a.md", "z.md"]), "{name}");
            let status = source(&observed, name).unwrap();
            assert_eq!(status.error_count, WRONG.len() as u64, "{status:?}");
            for (path, words) in WRONG {
                let error = status.errors.iter().find(|error| error.path == path);
                assert!(error.is_some_and(|error| error.message.contains(words)), "{path}: {status:?}");
            }
        }
        assert_one_pod_did_it(namespace, &index).await?;

        // The broken file becomes good. Only changed files are read again.
        let good = Content::Base64(BASE64_STANDARD.encode(pdf::with_pages(&["It is whole now."])));
        let gone = ["bomb.pdf", "huge.txt", "latin.md"];
        let mended = Changes::default().and_put("broken.pdf", good).and_remove(&gone);
        git.commit(&mended).await?;
        claim.change(&mended).await?;
        let healed = index.sync().await?;
        assert_eq!(condition(&healed, ConditionType::Degraded).unwrap().status, ConditionStatus::False);
        assert_eq!(paths(&engine, "files", "files.git").await?, set(["a.md", "broken.pdf", "z.md"]));
        Ok(())
    })
    .await;
}

/// The changes that create all files. The first and the last file are good.
fn files() -> Changes {
    let huge = Content::Repeated { line: "All of it is one long story.\n".to_owned(), bytes: LARGE_BYTES };
    Changes::texts([("a.md", "The first."), ("z.md", "The last."), ("broken.pdf", "%PDF-1.4\nThis is not a PDF file.")])
        .and_put("bomb.pdf", Content::Base64(BASE64_STANDARD.encode(pdf::bomb())))
        .and_put("huge.txt", huge)
        .and_put("latin.md", Content::Base64(BASE64_STANDARD.encode(b"caf\xe9 \x80\x00")))
        .and_put("link.md", Content::Link("/etc/passwd".to_owned()))
        .and_put("above.md", Content::Link("../../../etc/passwd".to_owned()))
}

/// Asserts that one pod did the work: no pod was killed for its memory or had to be restarted.
async fn assert_one_pod_did_it(namespace: &Namespace, index: &Index<'_>) -> Result<(), Error> {
    let jobs = index.jobs().await?;
    let [job] = &jobs[..] else { panic!("{} Jobs", jobs.len()) };
    let job = job.metadata.name.as_deref().unwrap();
    let its = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={job}"));
    let pods = namespace.api::<Pod>().list(&its).await.map_err(Error::kubernetes("listing the pods of the Job"))?;
    let [pod] = &pods.items[..] else { panic!("{} pods", pods.items.len()) };
    let containers = pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap();
    let ended = containers[0].state.as_ref().unwrap().terminated.as_ref().unwrap();
    assert_eq!((ended.exit_code, containers[0].restart_count), (0, 0), "{ended:?}");
    Ok(())
}
