//! Credentials of sources, and addresses that sources must not use.

use ragengine_e2e::Error;
use ragengine_e2e::changes::Changes;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, condition, paths, set, source};
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::source::{Bucket, Files, Git};
use ragengine_e2e::{logs, wait};
use ragengine_operator_api::{ConditionStatus, ConditionType, Reason};
use serde_json::{Value, json};

use super::{inline, of_source, secret};

const PASSWORD: &str = "the-password-that-is-right";
const WRONG: &str = "a-password-that-is-wrong";

#[tokio::test]
async fn wrong_credentials_are_reported_and_right_ones_are_noticed() {
    in_namespace("index-credentials", async |namespace| {
        let operator = Operator::install(namespace).await?;
        let (git, bucket, files) = tokio::try_join!(
            Git::start(namespace, PASSWORD),
            Bucket::start(namespace, PASSWORD),
            Files::start(namespace, Some(PASSWORD)),
        )?;
        let text = Changes::texts([("a.md", "It was read.")]);
        git.commit(&text).await?;
        bucket.change(&text).await?;
        files.change(&text).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let spec = json!({"engineRef": {"name": "docs"}, "sources": [
            {"name": "git", "git": {"url": git.url(), "accessSecret": "git"}},
            {"name": "s3", "s3": bucket.specification("s3")},
            {"name": "http", "http": {"urls": [files.url("a.md")], "accessSecret": "http"}},
        ]});
        let index = Index::apply(namespace, "private", &spec).await?;
        let message = index.until_not_ready(Reason::SecretMissing).await?;
        assert!(["git", "s3", "http"].iter().all(|name| message.contains(&format!("Secret {name}"))), "{message}");
        assert!(index.jobs().await?.is_empty());

        give(namespace, &git, WRONG).await?;
        index.until_not_ready(Reason::SyncFailed).await?;
        let observed = index.object().await?;
        for (name, words) in [("git", "username and password"), ("s3", "AWS_SECRET_ACCESS_KEY")] {
            let status = source(&observed, name).unwrap();
            assert!(status.message.as_deref().unwrap().contains(words), "{status:?}");
        }
        // For a web page, the error is reported on the page.
        let status = source(&observed, "http").unwrap();
        assert!(status.errors[0].path.ends_with("/a.md") && status.errors[0].message.contains("401"), "{status:?}");
        assert_no_log_has_it(namespace, &operator, &index).await?;

        give(namespace, &git, PASSWORD).await?;
        index.until_synced().await?;
        for (name, path) in [("git", "a.md".to_owned()), ("s3", "a.md".to_owned()), ("http", files.document("a.md"))] {
            assert_eq!(paths(&engine, "private", &format!("private.{name}")).await?, set([path]), "{name}");
        }
        Ok(())
    })
    .await;
}

/// Creates or changes all Secrets, with this password.
async fn give(namespace: &Namespace, git: &Git, password: &str) -> Result<(), Error> {
    secret(namespace, "git", &git.credentials(password).await?).await?;
    secret(namespace, "s3", &Bucket::credentials(password)).await?;
    secret(namespace, "http", &json!({"token": password})).await.map(drop)
}

async fn assert_no_log_has_it(namespace: &Namespace, operator: &Operator, index: &Index<'_>) -> Result<(), Error> {
    let acting = operator.acting_pod().await?.metadata.name.unwrap();
    let of_operator = logs::of(&operator.pods(), &acting, "operator").await?;
    let status = serde_json::to_string(&index.object().await?).unwrap();
    let jobs = serde_json::to_string(&index.jobs().await?).unwrap();
    for text in [of_operator, status, jobs, logs_of_jobs(namespace).await?] {
        assert!(!text.is_empty() && !text.contains(WRONG), "{text}");
    }
    Ok(())
}

async fn logs_of_jobs(namespace: &Namespace) -> Result<String, Error> {
    let pods = namespace.api::<k8s_openapi::api::core::v1::Pod>();
    let of_jobs = kube::api::ListParams::default().labels("batch.kubernetes.io/job-name");
    let mut text = String::new();
    for pod in pods.list(&of_jobs).await.map_err(Error::kubernetes("listing the pods of Jobs"))? {
        let name = pod.metadata.name.unwrap_or_default();
        let container = pod.spec.map(|spec| spec.containers[0].name.clone()).unwrap_or_default();
        text.push_str(&logs::of(&pods, &name, &container).await?);
    }
    Ok(text)
}

#[tokio::test]
async fn no_page_redirects_to_a_forbidden_address() {
    in_namespace("index-addresses", async |namespace| {
        let tenants = json!({"allowedRanges": ["127.0.0.0/8", "::1"], "requireSecretHosts": false, "podTemplate": []});
        let _operator = Operator::install_with(namespace, &json!({"tenants": tenants})).await?;
        let files = Files::start(namespace, None).await?;
        files.change(&Changes::texts([("good.md", "This is public.")])).await?;
        let forbidden = [
            ("/metadata.md", "http://169.254.169.254/latest/meta-data/"),
            ("/itself.md", "http://127.0.0.1:8080/metrics"),
            ("/cluster.md", "https://kubernetes.default.svc/version"),
            ("/long.md", "http://[::ffff:169.254.169.254]/"),
        ];
        files.redirect(&[forbidden.as_slice(), &[("/moved.md", &files.url("good.md"))]].concat()).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let mut urls = vec![files.url("good.md"), files.url("moved.md"), "http://localhost:8080/direct.md".to_owned()];
        urls.extend(forbidden.iter().map(|(path, _)| files.url(path.trim_start_matches('/'))));
        let index = Index::apply(namespace, "pages", &of_pages(&urls, &[])).await?;
        let observed = index.until(ConditionType::Degraded, ConditionStatus::True, Reason::FilesFailed).await?;
        let held = set([files.document("good.md"), files.document("moved.md")]);
        assert_eq!(paths(&engine, "pages", "pages.pages").await?, held);
        let status = source(&observed, "pages").unwrap();
        assert_eq!(status.error_count, 5, "{status:?}");
        let may_be_allowed = status.errors.iter().filter(|error| error.message.contains("allowedRanges")).count();
        assert_eq!(may_be_allowed, 3, "the address of a cloud's metadata service cannot be allowed: {status:?}");

        // If a user allows an address, it is requested. The request then fails for another reason.
        index.set(&of_pages(&urls, &["127.0.0.0/8", "::1"])).await?;
        let wanted = "allowed addresses are requested";
        index
            .until_status(wanted, |index| {
                let refused = source(index, "pages").into_iter().flat_map(|source| &source.errors);
                refused.filter(|error| error.message.contains("allowedRanges")).count() == 1
            })
            .await?;
        // A forbidden address in the specification itself is refused in the same way.
        let sitemap = json!({"name": "pages", "http": {"sitemap": "http://169.254.169.254/sitemap.xml"}});
        let other = Index::apply(namespace, "other", &of_source("docs", &sitemap)).await?;
        let message = other.until_not_ready(Reason::SyncFailed).await?;
        assert!(message.contains("169.254.169.254") && message.contains("credentials"), "{message}");
        Ok(())
    })
    .await;
}

fn of_pages(urls: &[String], allowed: &[&str]) -> Value {
    let mut spec = of_source("docs", &json!({"name": "pages", "http": {"urls": urls}}));
    spec["allowedRanges"] = json!(allowed);
    spec
}

#[tokio::test]
async fn missing_objects_are_named_and_waited_for() {
    in_namespace("index-missing", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let index = Index::apply(namespace, "early", &inline("docs", "here", &[("a.md", "A text.")])).await?;
        let message = index.until_not_ready(Reason::EngineNotFound).await?;
        assert!(message.contains("RAGEngine docs"), "{message}");
        let engine = Engine::apply(namespace, "docs", &json!({})).await?;
        index.until_synced().await?;
        assert_eq!(paths(&engine, "early", "early.here").await?, set(["a.md"]));

        for (name, kind, reason, words) in [
            ("map", "configMap", Reason::ConfigMapMissing, "ConfigMap map-late"),
            ("claim", "persistentVolumeClaim", Reason::ClaimMissing, "claim-late"),
        ] {
            let source = json!({"name": "late", kind: {"name": format!("{name}-late")}});
            let index = Index::apply(namespace, name, &of_source("docs", &source)).await?;
            let message = index.until_not_ready(reason).await?;
            assert!(message.contains(words), "{message}");
            assert!(index.jobs().await?.is_empty(), "{name}");
        }
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map-late"}, "data": {"b.md": "B"}});
        namespace.apply::<k8s_openapi::api::core::v1::ConfigMap>("map-late", &map).await?;
        Index::named(namespace, "map").until_synced().await?;
        assert_eq!(paths(&engine, "map", "map.late").await?, set(["b.md"]));
        // Changes of the ConfigMap are noticed too.
        let changed = json!({"data": {"b.md": null, "c.md": "C"}});
        namespace.change::<k8s_openapi::api::core::v1::ConfigMap>("map-late", &changed).await?;
        let map = Index::named(namespace, "map");
        map.until_not_ready(Reason::HeldBack).await?;
        map.confirm_delete().await?;
        wait::until("the changed ConfigMap is indexed", async || {
            let held = paths(&engine, "map", "map.late").await.map_err(|error| error.to_string())?;
            if held == set(["c.md"]) { Ok(()) } else { Err(format!("{held:?}")) }
        })
        .await?;
        let ready = Index::named(namespace, "map").until_synced().await?;
        assert_eq!(condition(&ready, ConditionType::Degraded).unwrap().status, ConditionStatus::False);
        Ok(())
    })
    .await;
}
