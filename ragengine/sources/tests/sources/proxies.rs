//! Sources behind a proxy (tinyproxy).

use ragengine_settings::sync::{Git, Http, Origin, S3};

use crate::support::git_server::{self, Repository, Rules};
use crate::support::proxy::Proxy;
use crate::support::{Bench, s3_server, serve, texts, tls_front, write};

#[tokio::test]
async fn web_pages_are_fetched_through_a_proxy() {
    let proxy = Proxy::start().await;
    let bench = Bench::new().through(&proxy.url);
    let server = serve(axum::Router::new().fallback(|| async { "text" })).await;
    let urls = vec![format!("http://{server}/a.md")];
    let opened = bench.open(Origin::Http(Http { urls, ..Http::default() })).await.unwrap();
    assert_eq!(texts(&opened).await.values().collect::<Vec<_>>(), ["text"]);
    assert!(proxy.log().contains(&format!("GET http://{server}/a.md")), "{}", proxy.log());
}

#[tokio::test]
async fn repositories_and_buckets_are_fetched_through_a_tunnel_with_their_secrets() {
    let proxy = Proxy::start().await;
    let bench = Bench::new().through(&proxy.url);
    let root = bench.folder.path().join("repositories");
    let repository = Repository::new(&root.join("docs"));
    write(&repository.folder, &[("a.md", "text")]);
    repository.commit();
    let front = tls_front::serve(git_server::serve(&root, Rules::default()).await).await;
    let credentials = Some(bench.secret(&[("token", "abc"), ("ca.crt", &front.authority)]));
    let url = format!("{}/docs/.git", front.url);
    let opened = bench.open(Origin::Git(Git { url: url.clone(), credentials, ..Git::default() })).await.unwrap();
    assert_eq!(texts(&opened).await.values().collect::<Vec<_>>(), ["text"]);
    assert!(proxy.log().contains(&format!("CONNECT {}", front.url.trim_start_matches("https://"))), "{}", proxy.log());

    let root = bench.folder.path().join("s3");
    write(&root.join("docs"), &[("a.md", "text")]);
    let front = tls_front::serve(s3_server::serve(&root).await).await;
    let credentials = Some(bench.secret(&[
        ("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", s3_server::SECRET_ACCESS_KEY),
        ("ca.crt", &front.authority),
    ]));
    let source = S3 { bucket: "docs".into(), endpoint: Some(front.url.clone()), credentials, ..S3::default() };
    let opened = bench.open(Origin::S3(source)).await.unwrap();
    assert_eq!(texts(&opened).await.values().collect::<Vec<_>>(), ["text"]);
    assert!(proxy.log().contains(&format!("CONNECT {}", front.url.trim_start_matches("https://"))), "{}", proxy.log());
}

#[tokio::test]
async fn a_secret_is_not_sent_through_a_proxy_without_encryption() {
    let proxy = Proxy::start().await;
    let bench = Bench::new().through(&proxy.url);
    let server = serve(axum::Router::new().fallback(|| async { "text" })).await;
    let credentials = Some(bench.secret(&[("token", "abc")]));
    let url = format!("http://{server}/a.md");
    let http = Origin::Http(Http { urls: vec![url.clone()], credentials: credentials.clone(), ..Http::default() });
    let git = Origin::Git(Git { url: url.clone(), credentials: credentials.clone(), ..Git::default() });
    let s3 = Origin::S3(S3 { bucket: "docs".into(), endpoint: Some(url), credentials, ..S3::default() });
    for origin in [http, git, s3] {
        let error = bench.open(origin).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the Secret in accessSecret is not sent to 127.0.0.1 through a proxy without encryption: \
             use https://, or add the host to NO_PROXY"
        );
    }
    assert!(!proxy.log().contains("a.md"), "{}", proxy.log());
}

#[tokio::test]
async fn a_proxy_is_not_asked_for_refused_addresses() {
    let proxy = Proxy::start().await;
    let bench = Bench::new().through(&proxy.url);
    for host in ["169.254.169.254", "[fd00:ec2::254]"] {
        let urls = vec![format!("http://{host}/a.md")];
        let opened = bench.open(Origin::Http(Http { urls, ..Http::default() })).await.unwrap();
        let error = opened.fetch(&opened.items()[0], None).await.unwrap_err();
        assert_eq!(error.kind(), "refused_address", "{error}");
        let url = format!("https://{host}/docs");
        assert!(bench.open(Origin::Git(Git { url: url.clone(), ..Git::default() })).await.is_err());
        let source = S3 { bucket: "docs".into(), endpoint: Some(url), ..S3::default() };
        assert!(bench.open(Origin::S3(source)).await.is_err());
    }
    assert!(!proxy.log().contains("169.254") && !proxy.log().contains("ec2"), "{}", proxy.log());
}

#[tokio::test]
async fn a_proxy_may_not_have_a_refused_address() {
    let proxy = Proxy::start().await;
    let bench = Bench::allowing(&[]).through(&proxy.url);
    let urls = vec!["http://docs.invalid/a.md".to_owned()];
    let opened = bench.open(Origin::Http(Http { urls, ..Http::default() })).await.unwrap();
    let error = opened.fetch(&opened.items()[0], None).await.unwrap_err();
    assert_eq!(error.kind(), "refused_address", "{error}");
    assert!(!proxy.log().contains("docs.invalid"), "{}", proxy.log());
}

#[tokio::test]
async fn a_server_that_the_proxy_cannot_reach_is_an_error() {
    let proxy = Proxy::start().await;
    let bench = Bench::new().through(&proxy.url);
    let urls = vec!["http://docs.invalid/a.md".to_owned()];
    let opened = bench.open(Origin::Http(Http { urls, ..Http::default() })).await.unwrap();
    let error = opened.fetch(&opened.items()[0], None).await.unwrap_err();
    assert_eq!(error.kind(), "status", "{error}");
    drop(proxy);
    let error = opened.fetch(&opened.items()[0], None).await.unwrap_err();
    assert_eq!(error.kind(), "unreachable", "{error}");
}
