//! Which servers credentials are sent to.

use axum::http::header;
use axum::response::IntoResponse;
use ragengine_settings::sync::{Http, Origin};
use ragengine_sources::Fetched;

use super::{Log, fetch_one, origin, redirect, server, server_with_log};
use crate::support::{Bench, fetch, paths, text};

#[tokio::test]
async fn credentials_go_to_the_configured_origin_and_no_further() {
    let bench = Bench::new();
    let (near, far) = (Log::default(), Log::default());
    let far_server = server_with_log(vec![("/b", "b".into_response())], far.clone()).await;
    let to_far = format!("{far_server}/b");
    let answers = vec![
        ("/a", "a".into_response()),
        ("/to-a", redirect(302, "/a")),
        ("/to-far", redirect(302, &to_far)),
        ("/back", redirect(302, &format!("{far_server}/back"))),
    ];
    let near_server = server_with_log(answers, near.clone()).await;
    let credentials = Some(bench.secret(&[("token", "secret")]));
    let ask = async |path: &str| {
        let urls = vec![format!("{near_server}{path}")];
        let opened =
            bench.open(Origin::Http(Http { urls, credentials: credentials.clone(), ..Http::default() })).await.unwrap();
        assert!(matches!(fetch(&opened, paths(&opened)[0], None).await.unwrap(), Fetched::File(_) | Fetched::Gone));
    };
    for path in ["/a", "/to-a", "/to-far"] {
        ask(path).await;
    }
    let with = Some("Bearer secret".to_owned());
    assert_eq!(near.values(header::AUTHORIZATION), vec![with; 4]);
    assert_eq!(far.values(header::AUTHORIZATION), vec![None]);

    // The last server is trusted, but the redirect to it comes from another origin.
    let third = Log::default();
    let last = server_with_log(vec![("/end", "end".into_response())], third.clone()).await;
    let middle = server(vec![("/x", redirect(302, &format!("{last}/end")))]).await;
    let urls = vec![format!("{middle}/x"), format!("{last}/end")];
    let opened = bench.open(Origin::Http(Http { urls, credentials, ..Http::default() })).await.unwrap();
    let through = paths(&opened).into_iter().find(|path| path.ends_with("/x")).unwrap();
    assert_eq!(text(&opened, through).await, "end");
    assert_eq!(third.values(header::AUTHORIZATION), vec![None]);
}

#[tokio::test]
async fn credentials_go_to_the_hosts_of_the_secret_only() {
    let bench = Bench::new();
    let log = Log::default();
    let server = server_with_log(vec![("/a", "a".into_response()), ("/map", "".into_response())], log.clone()).await;
    let host = server.strip_prefix("http://").unwrap();
    let source = |urls: &[&str], sitemap: Option<&str>, hosts: &[&str]| Http {
        urls: urls.iter().map(|path| format!("{server}{path}")).collect(),
        sitemap: sitemap.map(|path| format!("{server}{path}")),
        credentials: Some(bench.secret(&[("token", "secret")])),
        credential_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..Http::default()
    };
    for refused in [source(&["/a"], None, &["docs.example.com"]), source(&[], Some("/map"), &["127.0.0.1:1"])] {
        let error = bench.open(Origin::Http(refused)).await.unwrap_err();
        assert_eq!(error.kind(), "credentials");
        assert!(error.to_string().contains(&format!(", not to {host}: ")), "{error}");
    }
    assert_eq!(log.len(), 0);

    let opened = bench.open(Origin::Http(source(&["/a"], None, &["docs.example.com", host]))).await.unwrap();
    assert_eq!(text(&opened, paths(&opened)[0]).await, "a");
    assert_eq!(log.values(header::AUTHORIZATION), vec![Some("Bearer secret".to_owned())]);
    // Without a Secret, the hosts do not matter.
    let without = Http { credentials: None, ..source(&["/a"], None, &["docs.example.com"]) };
    assert!(bench.open(Origin::Http(without)).await.is_ok());
}

#[tokio::test]
async fn an_address_with_a_password_is_refused_without_showing_it() {
    let bench = Bench::new();
    let error = bench.open(origin(&["https://me:secret@docs.example.com/".into()])).await.unwrap_err();
    assert_eq!(error.kind(), "address");
    assert!(!error.to_string().contains("secret"), "{error}");
    let log = Log::default();
    let target = server_with_log(vec![("/b", "b".into_response())], log.clone()).await;
    let to = target.replace("http://", "http://me:secret@");
    let server = server(vec![
        ("/a", redirect(302, &format!("{to}/b"))),
        ("/broken", redirect(302, "http://me:secret@127.0.0.1:1/")),
    ])
    .await;
    assert!(matches!(fetch_one(&bench, format!("{server}/a"), None).await.unwrap(), Fetched::File(_)));
    assert_eq!(log.values(header::AUTHORIZATION), vec![None]);
    let error = fetch_one(&bench, format!("{server}/broken"), None).await.unwrap_err();
    assert_eq!(error.kind(), "unreachable");
    assert!(!error.to_string().contains("secret"), "{error}");
}
