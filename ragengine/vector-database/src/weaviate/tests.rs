use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::collection::CollectionShape;
use crate::collection_name::Collections;
use crate::object::Object;
use crate::predicate::Predicate;
use crate::property::Property;

/// A server that answers each connection with the next reply, and then ends. Returns the requests.
pub(crate) fn server(replies: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    drop(rustls::crypto::ring::default_provider().install_default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let answer = |reply: &String| {
            let mut stream = listener.accept().unwrap().0;
            let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
            loop {
                let count = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..count]);
                if is_whole(&request) || count == 0 {
                    break;
                }
            }
            stream.write_all(reply.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        };
        replies.iter().map(answer).collect()
    });
    (url, answering)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

pub(crate) fn reply(status: u16, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

pub(crate) fn client(url: &str) -> Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::new(ClientOptions { api_key: Some(ApiKey::new("k-1")), ..ClientOptions::new(url) }).unwrap()
}

fn classes() -> Collections {
    Collections::of("n", "i").unwrap()
}

#[tokio::test]
async fn reads_are_repeated_and_the_key_is_sent_but_never_shown() {
    let error = r#"{"error":[{"message":"no k-1"}]}"#;
    let (url, server) = server(vec![reply(503, error), reply(500, ""), reply(404, "")]);
    let client = client(&url);
    assert_eq!(client.object(&classes().texts, uuid::Uuid::nil()).await, Ok(None));
    let requests = server.join().unwrap();
    assert!(requests.iter().all(|request| request.contains("Bearer k-1") && request.contains("=QUORUM")));
    assert!(!format!("{client:?}").contains("k-1"));
}

#[tokio::test]
async fn the_attempts_are_bounded() {
    let error = r#"{"error":[{"message":"no k-1"}]}"#;
    let (url, server) = server(vec![reply(503, error); 3]);
    let error = client(&url).collections().await.unwrap_err();
    assert_eq!(error.to_string(), "the vector database cannot be used now: it answered with status 503: no ***");
    assert_eq!(server.join().unwrap().len(), 3);
}

#[tokio::test]
async fn a_class_is_not_made_twice() {
    let (url, server) = server(vec![reply(404, ""), reply(503, "busy")]);
    let shape = CollectionShape { name: &classes().texts, properties: &[], vectors: None, replicas: 1, shards: 1 };
    assert_eq!(client(&url).create_collection(&shape).await.unwrap_err().kind(), "unavailable");
    assert_eq!(server.join().unwrap().len(), 2);
}

#[tokio::test]
async fn an_object_that_is_not_stored_is_an_error_though_the_status_is_200() {
    let id = uuid::Uuid::nil();
    let failed =
        format!(r#"[{{"id":"{id}","result":{{"status":"FAILED","errors":{{"error":[{{"message":"m"}}]}}}}}}]"#);
    let (url, server) = server(vec![reply(200, &failed); 5]);
    let object = Object { id, properties: Vec::new(), vector: None };
    let error = client(&url).put(&classes().texts, &[object]).await.unwrap_err();
    assert_eq!(error.to_string(), "the vector database did not store 1 of 1 objects: m");
    assert_eq!(levels(&server.join().unwrap()), ["ALL", "ALL", "QUORUM", "QUORUM", "QUORUM"]);
}

#[tokio::test]
async fn a_missing_outcome_is_a_failure_and_only_failures_are_repeated() {
    let (one, other) = (uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2));
    let stored = |id| format!(r#"[{{"id":"{id}","result":{{"status":"SUCCESS"}}}}]"#);
    let (url, server) = server(vec![reply(200, &stored(one)), reply(200, &stored(other))]);
    let object = |id| Object { id, properties: Vec::new(), vector: None };
    client(&url).put(&classes().texts, &[object(one), object(other)]).await.unwrap();
    let requests = server.join().unwrap();
    assert!(requests[0].contains(&one.to_string()) && !requests[1].contains(&one.to_string()));
}

/// The replicas that each request waited for.
fn levels(requests: &[String]) -> Vec<&str> {
    let level = |request| {
        let (_, after) = str::split_once(request, "consistency_level=")?;
        after.split([' ', '&']).next()
    };
    requests.iter().map(|request| level(request).unwrap_or("")).collect()
}

#[tokio::test]
async fn writes_wait_for_a_majority_only_while_a_replica_is_missing() {
    let id = uuid::Uuid::from_u128(1);
    let stored = format!(r#"[{{"id":"{id}","result":{{"status":"SUCCESS"}}}}]"#);
    let deleted = reply(200, r#"{"results":{"limit":2,"matches":1,"successful":1,"failed":0}}"#);
    let (missing, stored) = (reply(500, "2 of 3"), reply(200, &stored));
    let replies = vec![stored.clone(), missing.clone(), missing.clone(), reply(204, ""), deleted, missing, stored];
    let (url, server) = server(replies);
    let (client, classes) = (client(&url), classes());
    let object = || Object { id, properties: Vec::new(), vector: None };
    client.put(&classes.chunks, &[object()]).await.unwrap();
    client.delete_object(&classes.documents, id).await.unwrap();
    client.delete_where(&classes.chunks, &Predicate::is(Property::DOCUMENT, "d")).await.unwrap();
    // A replica that does not answer the read may be behind, and must not be changed.
    assert!(client.set_text(&classes.documents, id, Property::REVISION, "r").await.unwrap_err().is_temporary());
    client.put(&classes.chunks, &[object()]).await.unwrap();
    assert_eq!(levels(&server.join().unwrap()), ["ALL", "ALL", "ALL", "QUORUM", "QUORUM", "ALL", "QUORUM"]);
}

#[tokio::test]
async fn a_property_is_changed_after_all_replicas_have_the_object() {
    let id = uuid::Uuid::from_u128(1);
    let object = reply(200, &format!(r#"{{"id":"{id}","properties":{{}}}}"#));
    let (url, server) = server(vec![object, reply(204, ""), reply(404, "")]);
    let (client, documents) = (client(&url), classes().documents);
    assert!(client.set_text(&documents, id, Property::REVISION, "r").await.unwrap());
    assert!(!client.set_text(&documents, id, Property::REVISION, "r").await.unwrap(), "it is gone");
    let requests = server.join().unwrap();
    let methods: Vec<&str> = requests.iter().filter_map(|request| request.split(' ').next()).collect();
    assert_eq!(methods, ["GET", "PATCH", "GET"]);
    assert_eq!(levels(&requests), ["ALL", "ALL", "ALL"]);
}

#[tokio::test]
async fn what_not_all_replicas_deleted_is_deleted_from_a_majority() {
    let results = |successful: u32, failed: u32| {
        let results = format!(r#"{{"limit":9,"matches":2,"successful":{successful},"failed":{failed}}}"#);
        reply(200, &format!(r#"{{"results":{results}}}"#))
    };
    let (url, server) = server(vec![results(0, 2), results(0, 2), results(2, 0)]);
    let predicate = Predicate::is(Property::DOCUMENT, "d");
    let deletion = client(&url).delete_where(&classes().chunks, &predicate).await.unwrap();
    assert_eq!(deletion.objects, 2);
    assert_eq!(levels(&server.join().unwrap()), ["ALL", "ALL", "QUORUM"]);
}

#[tokio::test]
async fn a_reply_is_bounded() {
    let (url, server) = server(vec![reply(200, &"x".repeat(5_000))]);
    let client = Client::new(ClientOptions { max_reply_bytes: 4_999, ..ClientOptions::new(&url) }).unwrap();
    let error = client.collections().await.unwrap_err();
    assert_eq!(error, VectorDatabaseError::LongReply { max_bytes: 4_999 });
    server.join().unwrap();
}

#[tokio::test]
async fn a_deletion_goes_on_until_nothing_is_left() {
    let results = |matches: u32, successful: u32| {
        let results = format!(r#"{{"limit":2,"matches":{matches},"successful":{successful},"failed":0}}"#);
        reply(200, &format!(r#"{{"results":{results}}}"#))
    };
    let (url, server) = server(vec![results(2, 2), results(2, 2), results(1, 1)]);
    let predicate = Predicate::is(Property::DOCUMENT, "d");
    let deletion = client(&url).delete_where(&classes().chunks, &predicate).await.unwrap();
    assert_eq!(deletion.objects, 5);
    server.join().unwrap();
}

#[tokio::test]
async fn an_error_of_a_query_is_an_error_though_the_status_is_200() {
    let (url, server) = server(vec![reply(200, r#"{"data":{"Get":{"X":null}},"errors":[{"message":"m"}]}"#)]);
    let sums = client(&url).sums(&classes().chunks, &Predicate::Everything, &[]).await;
    assert_eq!(sums, Err(VectorDatabaseError::Query("m".to_owned())));
    server.join().unwrap();
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    drop(rustls::crypto::ring::default_provider().install_default());
    let url = format!("http://{}", listener.local_addr().unwrap());
    let options = ClientOptions { timeout: Duration::from_millis(50), attempts: 2, ..ClientOptions::new(url) };
    assert_eq!(Client::new(options).unwrap().collections().await, Err(VectorDatabaseError::Timeout));
}

#[test]
fn an_address_with_secrets_or_another_scheme_is_refused() {
    for url in ["http://a:b@c", "ftp://c", "c:1", "http://c?d", "http://"] {
        let error = Client::new(ClientOptions::new(url)).unwrap_err();
        assert!(error.to_string().starts_with("vectorDB.url is invalid"), "{url}: {error}");
    }
}
