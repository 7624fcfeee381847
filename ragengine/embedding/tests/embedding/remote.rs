use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use ragengine_embedding::remote::{Endpoint, EndpointOptions};
use ragengine_embedding::{Embedder, Error, Purpose, Secret};
use serde_json::{Value, json};

use crate::server::{Seen, Server, install_provider, not_found, reply};

const WIDTH: usize = 3072;
const KEY: &str = "sk-very-secret-0123456789";

/// A working endpoint. Its vectors have the text's length in one dimension and 1 in the next. The last index comes
/// first.
fn works(seen: &Seen) -> Response<Body> {
    let request: Value = serde_json::from_slice(&seen.body).unwrap();
    let texts = request["input"].as_array().unwrap();
    let width = request["dimensions"].as_u64().map_or(WIDTH, |width| width as usize);
    let item = |(index, text): (usize, &Value)| {
        let mut embedding = vec![0.0; width];
        embedding[0] = text.as_str().unwrap().len() as f32;
        embedding[1] = 1.0;
        json!({"object": "embedding", "index": index, "embedding": embedding})
    };
    let data: Vec<Value> = texts.iter().enumerate().map(item).rev().collect();
    Json(json!({"object": "list", "data": data, "model": request["model"]})).into_response()
}

fn options(server: &Server) -> EndpointOptions {
    EndpointOptions {
        api_key: Some(Secret::new(KEY)),
        max_retry_wait: Duration::from_millis(10),
        ..EndpointOptions::new(format!("{}/v1", server.url), "text-embedding-3-large")
    }
}

fn endpoint(options: EndpointOptions) -> Endpoint {
    Endpoint::new(options).unwrap()
}

async fn embed_one(options: EndpointOptions) -> Result<usize, Error> {
    let vectors = endpoint(options).embed(Purpose::Query, vec!["text".to_owned()]).await?;
    Ok(vectors[0].len())
}

fn texts(count: usize) -> Vec<String> {
    (1..=count).map(|length| "x".repeat(length)).collect()
}

#[tokio::test]
async fn vectors_of_3072_come_in_order_from_batches() {
    let server = Server::start(Vec::new(), works).await;
    let endpoint = endpoint(EndpointOptions { max_batch: 3, ..options(&server) });
    assert_eq!(endpoint.dimensions(), None);
    let vectors = endpoint.embed(Purpose::Passage, texts(20)).await.unwrap();
    assert_eq!(endpoint.dimensions(), Some(WIDTH));
    assert_eq!(vectors.len(), 20);
    for (vector, length) in vectors.iter().zip(1_u8..) {
        let length = f32::from(length);
        assert_eq!(vector.len(), WIDTH);
        assert!((vector[0] / vector[1] - length).abs() < 1e-3, "{length}: {} {}", vector[0], vector[1]);
        assert!((vector[0].hypot(vector[1]) - 1.0).abs() < 1e-5);
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 7);
    assert!(seen.iter().all(|seen| seen.path == "/v1/embeddings"));
    assert_eq!(seen[0].authorization.as_deref(), Some(&*format!("Bearer {KEY}")));
    let body: Value = serde_json::from_slice(&seen[0].body).unwrap();
    assert_eq!(body["model"], "text-embedding-3-large");
    assert_eq!(body["encoding_format"], "float");
    assert_eq!(body.get("dimensions"), None);
}

#[tokio::test]
async fn the_width_asked_for_is_sent_and_expected() {
    let server = Server::start(Vec::new(), works).await;
    let shortened = EndpointOptions { dimensions: Some(256), ..options(&server) };
    assert_eq!(endpoint(shortened.clone()).dimensions(), Some(256));
    assert_eq!(embed_one(shortened).await, Ok(256));

    let ignores_it = Server::start(vec![one_vector(WIDTH)], not_found).await;
    let error = embed_one(EndpointOptions { dimensions: Some(256), ..options(&ignores_it) }).await.unwrap_err();
    assert!(matches!(&error, Error::BadReply(message) if message.contains("3072 wide")), "{error}");
}

fn one_vector(width: usize) -> Option<crate::server::Reaction> {
    let body = json!({"data": [{"index": 0, "embedding": vec![1.0; width]}]}).to_string();
    reply(200, &[("content-type", "application/json")], body)
}

#[tokio::test]
async fn the_width_may_not_change() {
    let server = Server::start(vec![one_vector(8), one_vector(16)], not_found).await;
    let endpoint = endpoint(options(&server));
    assert_eq!(endpoint.probe().await, Ok(8));
    let error = endpoint.probe().await.unwrap_err();
    assert!(matches!(&error, Error::BadReply(message) if message.contains("16 wide")), "{error}");
    assert_eq!(endpoint.dimensions(), Some(8));
}

#[tokio::test]
async fn invalid_replies_are_not_retried() {
    let bodies = [
        r#"{"data": []}"#,
        r#"{"data": [{"index": 0, "embedding": [null, 1.0]}]}"#,
        r#"{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}"#,
        r#"{"data": [{"index": 1, "embedding": [1.0]}]}"#,
        "<html>welcome</html>",
    ];
    for body in bodies {
        let server = Server::start(vec![reply(200, &[], body)], works).await;
        let error = embed_one(options(&server)).await.unwrap_err();
        assert_eq!(error.kind(), "bad_reply", "{body}: {error}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_reply_over_the_limit_is_refused() {
    let server = Server::start(Vec::new(), works).await;
    let error = embed_one(EndpointOptions { max_reply_bytes: 1000, ..options(&server) }).await.unwrap_err();
    assert!(matches!(&error, Error::BadReply(message) if message.contains("1000 bytes")), "{error}");
}

#[tokio::test]
async fn the_error_for_a_refused_key_does_not_contain_it() {
    let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}}).to_string();
    let server = Server::start(vec![reply(401, &[], body)], works).await;
    let options = options(&server);
    assert!(!format!("{options:?} {:?}", endpoint(options.clone())).contains(KEY));
    let error = embed_one(options).await.unwrap_err();
    let message = "Incorrect API key provided: ***.".to_owned();
    assert_eq!(error, Error::Upstream { status: 401, message });
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    let turns = || vec![reply(429, &[("retry-after", "0")], "slow down"), reply(503, &[], "loading")];
    let server = Server::start(turns(), works).await;
    assert_eq!(embed_one(options(&server)).await, Ok(WIDTH));
    assert_eq!(server.seen().len(), 3);

    let server = Server::start(turns(), works).await;
    let error = embed_one(EndpointOptions { max_retries: 1, ..options(&server) }).await.unwrap_err();
    assert_eq!(error, Error::Upstream { status: 503, message: "loading".to_owned() });
}

#[tokio::test]
async fn an_endpoint_that_requests_a_long_wait_is_not_retried() {
    let server = Server::start(vec![reply(429, &[("retry-after", "3600")], "quota")], works).await;
    let error = embed_one(options(&server)).await.unwrap_err();
    assert_eq!(error, Error::Upstream { status: 429, message: "quota".to_owned() });
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::start(vec![reply(307, &[("location", "/elsewhere")], "")], works).await;
    let error = embed_one(options(&server)).await.unwrap_err();
    assert!(matches!(error, Error::Upstream { status: 307, .. }), "{error}");
}

#[tokio::test]
async fn a_hanging_endpoint_times_out() {
    let server = Server::start(vec![None], works).await;
    let timeout = Duration::from_millis(200);
    let error = embed_one(EndpointOptions { timeout, ..options(&server) }).await.unwrap_err();
    assert_eq!(error, Error::Timeout { url: format!("{}/v1/embeddings", server.url), timeout });
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_unreachable_endpoint_is_named() {
    install_provider();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let options =
        EndpointOptions { max_retry_wait: Duration::from_millis(5), ..EndpointOptions::new(url.clone(), "model") };
    let error = embed_one(options).await.unwrap_err();
    assert!(matches!(&error, Error::Unreachable { url: named, .. } if named.starts_with(&url)), "{error}");
    assert!(error.to_string().to_lowercase().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_query_does_not_wait_for_an_ingest() {
    let server = Server::start(vec![None], works).await;
    let endpoint = endpoint(EndpointOptions { max_in_flight: 1, ..options(&server) });
    let ingest = endpoint.embed(Purpose::Passage, texts(1));
    let query = async {
        // The only permit for passages is in use once the server has received the request.
        while server.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        endpoint.embed(Purpose::Query, texts(1)).await
    };
    tokio::select! {
        biased;
        _ = ingest => panic!("the server hangs"),
        vectors = query => assert_eq!(vectors.unwrap().len(), 1),
    }
}

#[tokio::test]
async fn queries_beyond_the_queue_are_refused() {
    let server = Server::start(vec![None, None], works).await;
    let endpoint = endpoint(EndpointOptions { max_in_flight: 1, query_queue: 1, ..options(&server) });
    let hangs =
        async { tokio::join!(endpoint.embed(Purpose::Query, texts(1)), endpoint.embed(Purpose::Query, texts(1))) };
    let third = endpoint.embed(Purpose::Query, texts(1));
    tokio::select! {
        biased;
        _ = hangs => panic!("the server hangs"),
        result = third => assert_eq!(result, Err(Error::Overloaded { waiting: 1 })),
    }
}

#[tokio::test]
async fn limits_and_prefixes() {
    let server = Server::start(Vec::new(), works).await;
    let options = EndpointOptions {
        max_tokens: 10,
        query_prefix: "q: ".to_owned(),
        passage_prefix: "p: ".to_owned(),
        ..options(&server)
    };
    let endpoint = endpoint(options);
    assert_eq!(endpoint.max_passage_tokens(), 9);
    assert!(endpoint.embed(Purpose::Passage, vec!["x".repeat(27)]).await.is_ok());
    let error = endpoint.embed(Purpose::Passage, vec!["x".to_owned(), "x".repeat(28)]).await.unwrap_err();
    assert_eq!(error, Error::TooLong { position: 1, tokens: 11, max_tokens: 10 });

    // A query is truncated between characters: 3 + 13 × 2 bytes of at most 30.
    assert!(endpoint.embed(Purpose::Query, vec!["ä".repeat(100)]).await.is_ok());
    let inputs: Vec<Value> = server
        .seen()
        .iter()
        .map(|seen| serde_json::from_slice::<Value>(&seen.body).unwrap()["input"][0].clone())
        .collect();
    assert_eq!(inputs, [json!(format!("p: {}", "x".repeat(27))), json!(format!("q: {}", "ä".repeat(13)))]);

    let embedder = Embedder::Remote(endpoint);
    assert_eq!((embedder.count_tokens("four"), embedder.special_tokens(), embedder.max_tokens()), (2, 0, 10));
    assert_eq!(embedder.model_id(), "text-embedding-3-large");
    assert!(embedder.fingerprint().contains(r#"passage_prefix="p: ""#));
}

#[tokio::test]
async fn nothing_is_sent_when_a_passage_of_any_batch_is_too_long() {
    let server = Server::start(Vec::new(), works).await;
    let passage_prefix = "p: ".to_owned();
    let endpoint = endpoint(EndpointOptions { max_tokens: 10, max_batch: 2, passage_prefix, ..options(&server) });
    let error = endpoint.embed(Purpose::Passage, texts(30)).await.unwrap_err();
    assert_eq!(error, Error::TooLong { position: 27, tokens: 11, max_tokens: 10 });
    assert!(server.seen().is_empty());
    assert_eq!(endpoint.embed(Purpose::Passage, texts(27)).await.unwrap().len(), 27);
    let sent =
        server.seen().iter().map(|seen| serde_json::from_slice::<Value>(&seen.body).unwrap()).collect::<Vec<_>>();
    assert!(sent.iter().all(|body| body["input"][0].as_str().unwrap().starts_with("p: x")));
    assert_eq!(sent.len(), 14);
}

#[tokio::test]
async fn options_that_cannot_work_are_refused() {
    install_provider();
    let good = || EndpointOptions::new("http://localhost/v1", "model");
    let cases = [
        EndpointOptions { max_batch: 0, ..good() },
        EndpointOptions { max_in_flight: 0, ..good() },
        EndpointOptions { dimensions: Some(0), ..good() },
        EndpointOptions { max_tokens: 0, ..good() },
        EndpointOptions { model: String::new(), ..good() },
        EndpointOptions { url: "localhost".to_owned(), ..good() },
        EndpointOptions { api_key: Some(Secret::new("line\nbreak")), ..good() },
    ];
    for options in cases {
        let error = Endpoint::new(options).unwrap_err();
        assert_eq!(error.kind(), "configuration");
        assert!(!error.to_string().contains("break"), "{error}");
    }
}
