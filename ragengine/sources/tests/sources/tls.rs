//! Servers with certificates of a private authority.

use ragengine_settings::sync::{Git, Http, Origin, S3};

use crate::support::git_server::{self, Repository, Rules};
use crate::support::{Bench, s3_server, serve, texts, tls_front, write};

/// Asserts that a source can be fetched with the authority in its Secret, and not without it.
async fn check(bench: &Bench, authority: &str, origin: impl Fn(Option<std::path::PathBuf>) -> Origin) {
    let keys = [
        ("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", s3_server::SECRET_ACCESS_KEY),
        ("token", "abc"),
        ("ca.crt", authority),
    ];
    let opened = bench.open(origin(Some(bench.secret(&keys)))).await.unwrap();
    assert_eq!(texts(&opened).await.values().collect::<Vec<_>>(), ["text"]);
    let without = origin(Some(bench.secret(&keys[..3])));
    let error = match bench.open(without).await {
        Ok(opened) => opened.fetch(&opened.items()[0], None).await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("certificate"), "{error}");
}

#[tokio::test]
async fn web_pages_come_over_tls() {
    let bench = Bench::new();
    let front = tls_front::serve(serve(axum::Router::new().fallback(|| async { "text" })).await).await;
    let urls = vec![format!("{}/a.md", front.url)];
    check(&bench, &front.authority, |credentials| {
        Origin::Http(Http { urls: urls.clone(), credentials, ..Http::default() })
    })
    .await;
}

#[tokio::test]
async fn repositories_come_over_tls() {
    let bench = Bench::new();
    let root = bench.folder.path().join("repositories");
    let repository = Repository::new(&root.join("docs"));
    write(&repository.folder, &[("a.md", "text")]);
    repository.commit();
    let front = tls_front::serve(git_server::serve(&root, Rules::default()).await).await;
    let url = format!("{}/docs/.git", front.url);
    check(&bench, &front.authority, |credentials| Origin::Git(Git { url: url.clone(), credentials, ..Git::default() }))
        .await;
}

#[tokio::test]
async fn buckets_come_over_tls() {
    let bench = Bench::new();
    let root = bench.folder.path().join("s3");
    write(&root.join("docs"), &[("a.md", "text")]);
    let front = tls_front::serve(s3_server::serve(&root).await).await;
    let source = S3 { bucket: "docs".into(), endpoint: Some(front.url), ..S3::default() };
    check(&bench, &front.authority, |credentials| Origin::S3(S3 { credentials, ..source.clone() })).await;
}
