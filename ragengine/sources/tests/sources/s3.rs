//! Buckets on a real S3 server.

mod listings;

use ragengine_settings::sync::{Origin, S3};
use ragengine_sources::Fetched;

use crate::support::{Bench, expected, fetch, file, paths, s3_server, serve, texts, write};

struct Server {
    bench: Bench,
    bucket: std::path::PathBuf,
    source: S3,
}

async fn server() -> Server {
    let bench = Bench::new();
    let root = bench.folder.path().join("s3");
    let bucket = root.join("docs");
    std::fs::create_dir_all(&bucket).unwrap();
    let endpoint = Some(format!("http://{}", s3_server::serve(&root).await));
    let keys =
        [("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID), ("AWS_SECRET_ACCESS_KEY", s3_server::SECRET_ACCESS_KEY)];
    let credentials = Some(bench.secret(&keys));
    let source = S3 { bucket: "docs".into(), endpoint, credentials, ..S3::default() };
    Server { bench, bucket, source }
}

#[tokio::test]
async fn a_bucket_is_its_objects() {
    let server = server().await;
    write(
        &server.bucket,
        &[("a.md", "a"), ("sub/b.md", "b"), ("sub/c d ü.md", "c"), ("sub2/e.txt", "e"), ("empty.md", "")],
    );
    let opened = server.bench.open_with(Origin::S3(server.source.clone()), &[], &["**/*.txt"]).await.unwrap();
    assert_eq!(
        texts(&opened).await,
        expected(&[("a.md", "a"), ("empty.md", ""), ("sub/b.md", "b"), ("sub/c d ü.md", "c")])
    );
    assert_eq!(opened.errors(), []);
    // The listing of this server has no ETags.
    assert_eq!(opened.revision(), None);

    for (prefix, wanted) in [
        ("sub/", &["sub/b.md", "sub/c d ü.md"][..]),
        ("sub2", &["sub2/e.txt"]),
        ("su", &["sub/b.md", "sub/c d ü.md", "sub2/e.txt"]),
        ("x", &[]),
    ] {
        let source = S3 { prefix: Some(prefix.into()), ..server.source.clone() };
        assert_eq!(paths(&server.bench.open(Origin::S3(source)).await.unwrap()), wanted, "{prefix}");
    }
    assert_eq!(server.bench.left_files(), 0);
}

#[tokio::test]
async fn a_known_object_is_not_fetched() {
    let server = server().await;
    write(&server.bucket, &[("a.md", "one"), ("b.md", "b")]);
    let opened = server.bench.open(Origin::S3(server.source.clone())).await.unwrap();
    let first = file(&opened, "a.md").await;
    assert!(first.revision.starts_with("etag:"), "{}", first.revision);
    assert!(first.modified.as_deref().is_some_and(|time| time.ends_with('Z')));
    assert!(matches!(fetch(&opened, "a.md", Some(&first.revision)).await.unwrap(), Fetched::Unchanged));

    write(&server.bucket, &[("a.md", "three")]);
    std::fs::remove_file(server.bucket.join("b.md")).unwrap();
    assert!(matches!(fetch(&opened, "b.md", None).await.unwrap(), Fetched::Gone));
    let again = server.bench.open(Origin::S3(server.source.clone())).await.unwrap();
    let Fetched::File(second) = fetch(&again, "a.md", Some(&first.revision)).await.unwrap() else { panic!() };
    assert_eq!(std::fs::read_to_string(&second.path_on_disk).unwrap(), "three");
}

#[tokio::test]
async fn objects_that_are_too_large_are_errors() {
    let server = server().await;
    write(&server.bucket, &[("long.md", &"x".repeat(10_001)), ("grows.md", "x")]);
    let opened = server.bench.open(Origin::S3(server.source.clone())).await.unwrap();
    write(&server.bucket, &[("grows.md", &"x".repeat(10_001))]);
    for path in ["long.md", "grows.md"] {
        assert_eq!(fetch(&opened, path, None).await.unwrap_err().kind(), "too_large");
    }
    assert_eq!(server.bench.left_files(), 0);
}

#[tokio::test]
async fn each_error_of_a_bucket_has_its_kind() {
    let server = server().await;
    write(&server.bucket, &[("a.md", "a")]);
    let wrong = [("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID), ("AWS_SECRET_ACCESS_KEY", "wrong-secret")];
    let half = [("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID)];
    let base = &server.source;
    let cases = [
        (
            S3 { credentials: Some(server.bench.secret(&wrong)), ..base.clone() },
            "unauthorized",
            "AWS_SECRET_ACCESS_KEY",
        ),
        (S3 { credentials: Some(server.bench.secret(&half)), ..base.clone() }, "credentials", "AWS_SECRET_ACCESS_KEY"),
        (S3 { credentials: None, ..base.clone() }, "unauthorized", "AWS_ACCESS_KEY_ID"),
        (S3 { bucket: "none".into(), ..base.clone() }, "status", "'none'"),
        (S3 { endpoint: Some("http://169.254.169.254".into()), ..base.clone() }, "refused_address", "credentials"),
        (S3 { endpoint: Some("http://[::1]".into()), ..base.clone() }, "refused_address", "allowedRanges"),
        (S3 { endpoint: Some("http://me:pw@127.0.0.1".into()), ..base.clone() }, "address", "Secret"),
        (
            S3 { endpoint: None, region: Some("x@169.254.169.254/".into()), ..base.clone() },
            "address",
            "such as eu-central-1",
        ),
    ];
    for (source, kind, words) in cases {
        let error = server.bench.open(Origin::S3(source)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words) && !error.to_string().contains("wrong-secret"), "{error}");
    }
    let named = base.endpoint.as_deref().map(|endpoint| endpoint.replace("127.0.0.1", "localhost"));
    let source = S3 { endpoint: named, ..base.clone() };
    let error = Bench::allowing(&[]).open(Origin::S3(source)).await.unwrap_err();
    assert_eq!(error.kind(), "refused_address", "{error}");
}

#[tokio::test]
async fn credentials_go_to_the_hosts_of_the_secret_only() {
    let server = server().await;
    let with = |endpoint: Option<String>, host: &str| {
        Origin::S3(S3 { endpoint, credential_hosts: vec![host.to_owned()], ..server.source.clone() })
    };
    let here = || server.source.endpoint.clone();
    for (endpoint, host, refused) in [
        (here(), "s3.example.com", "127.0.0.1"),
        (None, "s3.eu-central-1.amazonaws.com", "s3.us-east-1.amazonaws.com"),
        (None, "amazonaws.com", "s3.us-east-1.amazonaws.com"),
    ] {
        let error = server.bench.open(with(endpoint, host)).await.unwrap_err();
        assert_eq!(error.kind(), "credentials");
        assert!(error.to_string().contains(&format!("only be sent to {host}, not to {refused}")), "{error}");
    }
    assert!(server.bench.open(with(here(), "127.0.0.1")).await.is_ok());
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = server().await;
    write(&server.bucket, &[("a.md", "a")]);
    let target = server.source.endpoint.clone().unwrap();
    let redirecting = move |request: axum::extract::Request| {
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        std::future::ready(axum::response::Redirect::temporary(&format!("{target}{path}")))
    };
    let endpoint = Some(format!("http://{}", serve(axum::Router::new().fallback(redirecting)).await));
    let error = server.bench.open(Origin::S3(S3 { endpoint, ..server.source.clone() })).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("307")), ("status", true), "{error}");
}

#[tokio::test]
async fn a_public_bucket_needs_no_credentials() {
    let bench = Bench::new();
    let root = bench.folder.path().join("s3");
    write(&root.join("docs"), &[("a.md", "a")]);
    let endpoint = Some(format!("http://{}/", s3_server::serve_to_anyone(&root).await));
    let opened = bench.open(Origin::S3(S3 { bucket: "docs".into(), endpoint, ..S3::default() })).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[("a.md", "a")]));
}
