//! Web pages: conditional requests, redirects, errors.

mod credentials;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ragengine_settings::sync::{Http, Origin};
use ragengine_sources::{FetchError, Fetched, FetchedFile};

use crate::support::{Bench, expected, fetch, file, paths, serve, text, texts};

/// The URL and the headers of each request.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(String, HeaderMap)>>>);

impl Log {
    fn add(&self, request: &Request) {
        self.0.lock().unwrap().push((request.uri().to_string(), request.headers().clone()));
    }

    fn values(&self, name: header::HeaderName) -> Vec<Option<String>> {
        let value = |headers: &HeaderMap| headers.get(&name).map(|value| value.to_str().unwrap().to_owned());
        self.0.lock().unwrap().iter().map(|(_, headers)| value(headers)).collect()
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn origin(urls: &[String]) -> Origin {
    Origin::Http(Http { urls: urls.to_vec(), ..Http::default() })
}

/// Starts a server with a fixed response for each path.
async fn server(answers: Vec<(&'static str, Response)>) -> String {
    server_with_log(answers, Log::default()).await
}

async fn server_with_log(answers: Vec<(&'static str, Response)>, log: Log) -> String {
    let mut parts = HashMap::new();
    for (path, response) in answers {
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        parts.insert(path.to_owned(), (head, body));
    }
    let answer = move |request: Request| async move {
        log.add(&request);
        match parts.get(request.uri().path()) {
            Some((head, body)) => Response::from_parts(head.clone(), body.clone().into()),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    };
    format!("http://{}", serve(Router::new().fallback(answer)).await)
}

async fn fetch_one(bench: &Bench, url: String, known: Option<&str>) -> Result<Fetched, FetchError> {
    let opened = bench.open(origin(&[url])).await.unwrap();
    fetch(&opened, paths(&opened)[0], known).await
}

fn redirect(status: u16, to: &str) -> Response {
    (StatusCode::from_u16(status).unwrap(), [(header::LOCATION, to)]).into_response()
}

#[tokio::test]
async fn pages_are_files() {
    let bench = Bench::new();
    let html =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::LAST_MODIFIED, "Sun, 06 Nov 1994 08:49:37 GMT")];
    let server = server(vec![("/", (html, "home").into_response()), ("/a.md", "a".into_response())]).await;
    let host = server.strip_prefix("http://").unwrap();
    let opened = bench
        .open(origin(&[format!("{server}/"), format!("{server}/a.md#x"), format!("{server}/index.html")]))
        .await
        .unwrap();
    let (home, page) = (format!("{host}/index.html"), format!("{host}/a.md"));
    assert_eq!(texts(&opened).await, expected(&[(&home, "home"), (&page, "a")]));
    let home = file(&opened, &home).await;
    assert_eq!(home.content_type.as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!(home.url, Some(format!("{server}/")));
    assert_eq!(home.modified.as_deref(), Some("1994-11-06T08:49:37Z"));
    drop(home);
    assert_eq!(bench.left_files(), 0);
}

#[tokio::test]
async fn a_known_page_is_not_sent_again() {
    let etag = (header::ETAG, "\"v1\"");
    let time = (header::LAST_MODIFIED, "Sun, 06 Nov 1994 08:49:37 GMT");
    let cases: Vec<(Vec<_>, _, Option<(header::HeaderName, &str)>)> = vec![
        (vec![etag.clone()], "etag:\"v1\"", Some((header::IF_NONE_MATCH, "\"v1\""))),
        (vec![etag, time.clone()], "etag:\"v1\"", Some((header::IF_NONE_MATCH, "\"v1\""))),
        (vec![time.clone()], "modified:Sun, 06 Nov 1994 08:49:37 GMT", Some((header::IF_MODIFIED_SINCE, time.1))),
        // printf text | sha256sum
        (vec![], "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1", None),
    ];
    for (marks, revision, condition) in cases {
        // The first server supports conditional requests, the second does not.
        for knows in [true, false] {
            let log = Log::default();
            let (seen, headers, expected) = (log.clone(), marks.clone(), condition.clone());
            let answer = move |request: Request| async move {
                seen.add(&request);
                let headers: HeaderMap =
                    headers.into_iter().map(|(name, value)| (name, value.parse().unwrap())).collect();
                match expected {
                    Some((name, value))
                        if knows && request.headers().get(&name).is_some_and(|found| found == value) =>
                    {
                        StatusCode::NOT_MODIFIED.into_response()
                    }
                    _ => (headers, "text").into_response(),
                }
            };
            let bench = Bench::new();
            let url = format!("http://{}/a.md", serve(Router::new().fallback(answer)).await);
            let Fetched::File(FetchedFile { revision: found, .. }) =
                fetch_one(&bench, url.clone(), None).await.unwrap()
            else {
                panic!()
            };
            assert_eq!(found, revision);
            assert!(
                matches!(fetch_one(&bench, url.clone(), Some(revision)).await.unwrap(), Fetched::Unchanged),
                "{revision} {knows}"
            );
            assert!(matches!(fetch_one(&bench, url, Some("etag:\"v0\"")).await.unwrap(), Fetched::File(_)));
            if let Some((name, value)) = &condition {
                assert_eq!(log.values(name.clone())[1].as_deref(), Some(*value));
            }
            assert_eq!(bench.left_files(), 0);
        }
    }
}

#[tokio::test]
async fn a_body_with_a_known_etag_is_not_received() {
    let bench = Bench::new();
    let endless = || {
        axum::body::Body::from_stream(futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>("x".repeat(1000))))
    };
    let answer = move || async move { ([(header::ETAG, "\"v1\"")], endless()) };
    let url = format!("http://{}/a", serve(Router::new().fallback(answer)).await);
    assert!(matches!(fetch_one(&bench, url.clone(), Some("etag:\"v1\"")).await.unwrap(), Fetched::Unchanged));
    assert_eq!(fetch_one(&bench, url, None).await.unwrap_err().kind(), "too_large");
}

#[tokio::test]
async fn an_error_response_says_what_to_do() {
    let bench = Bench::new();
    let cases = [
        (401, "unauthorized", "token, or username and password"),
        (403, "unauthorized", "token, or username and password"),
        (500, "status", "500"),
        (304, "status", "304"),
        (302, "redirect", "Location"),
        (418, "status", "418"),
    ];
    for (status, kind, words) in cases {
        let server = server(vec![("/a", StatusCode::from_u16(status).unwrap().into_response())]).await;
        let error = fetch_one(&bench, format!("{server}/a"), None).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{status}");
        assert!(error.to_string().contains(words), "{error}");
    }
    for status in [404, 410] {
        let server = server(vec![("/a", StatusCode::from_u16(status).unwrap().into_response())]).await;
        assert!(matches!(fetch_one(&bench, format!("{server}/a"), None).await.unwrap(), Fetched::Gone));
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_three_times() {
    let bench = Bench::new();
    for (busy_answers, expected) in [(2, None), (3, Some("status"))] {
        let log = Log::default();
        let seen = log.clone();
        let answer = move |request: Request| async move {
            seen.add(&request);
            if seen.len() <= busy_answers {
                return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "0")]).into_response();
            }
            "text".into_response()
        };
        let url = format!("http://{}/a", serve(Router::new().fallback(answer)).await);
        assert_eq!(fetch_one(&bench, url, None).await.err().map(|error| error.kind()), expected);
        assert_eq!(log.len(), 3);
    }
}

#[tokio::test]
async fn redirects_are_followed_to_permitted_addresses() {
    let bench = Bench::new();
    let good = server(vec![
        ("/1", redirect(301, "/2")),
        ("/2", redirect(302, "3")),
        ("/3", redirect(303, "./4")),
        ("/4", redirect(307, "/5?x=1")),
        ("/5", redirect(308, "/6#x")),
        ("/6", "text".into_response()),
        ("/0", redirect(301, "/1")),
    ])
    .await;
    let opened = bench.open(origin(&[format!("{good}/1"), format!("{good}/0")])).await.unwrap();
    let path = |name: &str| format!("{}/{name}", good.strip_prefix("http://").unwrap());
    assert_eq!(text(&opened, &path("1")).await, "text");
    assert_eq!(fetch(&opened, &path("0"), None).await.unwrap_err().kind(), "redirect");

    for (to, kind) in [
        ("http://169.254.169.254/latest/meta-data", "refused_address"),
        ("http://[::1]/", "refused_address"),
        ("http://[::ffff:169.254.169.254]/", "refused_address"),
        ("http://0.0.0.0/", "refused_address"),
        ("//2852039166/", "refused_address"),
        ("file:///etc/passwd", "redirect"),
        ("http://", "redirect"),
    ] {
        let server = server(vec![("/a", redirect(302, to))]).await;
        let error = fetch_one(&bench, format!("{server}/a"), None).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{to}: {error}");
    }
    let endless = server(vec![("/a", redirect(302, "/a"))]).await;
    assert_eq!(fetch_one(&bench, format!("{endless}/a"), None).await.unwrap_err().kind(), "redirect");
}

#[tokio::test]
async fn no_request_is_sent_to_a_refused_address() {
    let log = Log::default();
    let server = server_with_log(vec![("/a", "text".into_response())], log.clone()).await;
    let named = server.replace("127.0.0.1", "localhost");
    let bench = Bench::allowing(&[]);
    for url in [&server, &named] {
        let error = fetch_one(&bench, format!("{url}/a"), None).await.unwrap_err();
        assert_eq!(error.kind(), "refused_address", "{error}");
        assert!(error.to_string().contains("loopback") && error.to_string().contains("allowedRanges"), "{error}");
    }
    assert_eq!(log.len(), 0);
    assert!(matches!(fetch_one(&Bench::new(), format!("{named}/a"), None).await.unwrap(), Fetched::File(_)));
}

#[tokio::test]
async fn patterns_select_pages() {
    let bench = Bench::new();
    let urls: Vec<_> =
        ["a/1.md", "a/2.txt", "b/3.md"].iter().map(|path| format!("https://docs.example.com/{path}")).collect();
    let opened = bench.open_with(origin(&urls), &["*/a/**"], &["**/*.txt"]).await.unwrap();
    assert_eq!(paths(&opened), ["docs.example.com/a/1.md"]);
    assert_eq!(bench.open_with(origin(&urls), &["a[b"], &[]).await.unwrap_err().kind(), "pattern");
}

#[tokio::test]
async fn an_unreachable_server_is_an_error() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    drop(listener);
    let error = fetch_one(&Bench::new(), url, None).await.unwrap_err();
    assert_eq!(error.kind(), "unreachable");
    assert!(error.to_string().contains("refused"), "{error}");
}
