//! Web servers whose responses are too large, too slow, or invalid.

use std::convert::Infallible;
use std::io::Write;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use ragengine_settings::sync::{Http, Origin};
use ragengine_sources::{FetchError, Fetched};

use crate::support::{Bench, fetch, paths, serve};

type Answer = fn() -> Response;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn coded(coding: &'static str, body: Vec<u8>) -> Response {
    ([(header::CONTENT_ENCODING, coding)], body).into_response()
}

async fn fetch_from(bench: &Bench, router: Router) -> Result<Vec<u8>, FetchError> {
    let url = format!("http://{}/a", serve(router).await);
    let origin = Origin::Http(Http { urls: vec![url], ..Http::default() });
    let opened = bench.open(origin).await.unwrap();
    let fetched = fetch(&opened, paths(&opened)[0], None).await;
    let content = fetched.map(|fetched| match fetched {
        Fetched::File(file) => std::fs::read(&file.path_on_disk).unwrap(),
        other => panic!("{other:?}"),
    });
    assert_eq!(bench.left_files(), 0);
    content
}

#[tokio::test]
async fn a_body_larger_than_the_limit_is_an_error() {
    let bench = Bench::new();
    let answers = |response: Answer| Router::new().route("/a", get(move || async move { response() }));
    let just = fetch_from(&bench, answers(|| vec![b'x'; 10_000].into_response())).await.unwrap();
    assert_eq!(just.len(), 10_000);
    let cases: [(Answer, &str); 7] = [
        (|| vec![b'x'; 10_001].into_response(), "too_large"),
        (
            || {
                Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 1000]))))
                    .into_response()
            },
            "too_large",
        ),
        (|| coded("gzip", gzip(&vec![b'x'; 50_000_000])), "too_large"),
        (|| coded("gzip", b"no gzip at all, whatever it says".to_vec()), "answer"),
        (|| coded("gzip", gzip(&[b'x'; 5000])[..20].to_vec()), "answer"),
        (|| coded("br", b"x".to_vec()), "answer"),
        (
            || {
                (
                    [(header::CONTENT_LENGTH, "100")],
                    Body::from_stream(stream::iter([Err::<Bytes, _>(std::io::Error::other("broken"))])),
                )
                    .into_response()
            },
            "unreachable",
        ),
    ];
    for (number, (response, kind)) in cases.into_iter().enumerate() {
        let error = fetch_from(&bench, answers(response)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{number}: {error}");
    }
}

#[tokio::test]
async fn a_compressed_body_is_unpacked() {
    let bench = Bench::new();
    for coding in ["gzip", "x-gzip", "GZIP"] {
        let router = Router::new().route("/a", get(move || async move { coded(coding, gzip(b"text")) }));
        assert_eq!(fetch_from(&bench, router).await.unwrap(), b"text");
    }
    let router = Router::new().route("/a", get(|| async { coded("identity", b"text".to_vec()) }));
    assert_eq!(fetch_from(&bench, router).await.unwrap(), b"text");
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let bench = Bench::new().with_timeout(Duration::from_millis(200));
    let silent_head = Router::new().route("/a", get(std::future::pending::<String>));
    assert_eq!(fetch_from(&bench, silent_head).await.unwrap_err().kind(), "timeout");
    let silent_body = || async {
        let parts = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b"x")) });
        Body::from_stream(futures_util::StreamExt::chain(parts, stream::pending()))
    };
    assert_eq!(fetch_from(&bench, Router::new().route("/a", get(silent_body))).await.unwrap_err().kind(), "timeout");
    // Each part arrives in time, but the body never ends.
    let bench = Bench::new().with_timeout(Duration::from_millis(200));
    let dripping = || async {
        Body::from_stream(stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
        }))
    };
    assert_eq!(fetch_from(&bench, Router::new().route("/a", get(dripping))).await.unwrap_err().kind(), "timeout");
}
