use std::net::TcpListener;

use super::*;

fn client(url: &str) -> Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    let options = ClientOptions { timeout: Duration::from_millis(200), attempts: 2, ..ClientOptions::new(url) };
    Client::new(ClientOptions { api_key: Some(ApiKey::new("k-1")), ..options }).unwrap()
}

#[tokio::test]
async fn a_server_that_is_not_there_or_silent_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = client(&format!("http://{}", listener.local_addr().unwrap()));
    assert!(silent.collections().await.unwrap_err().is_temporary());
    drop(listener);
    let missing = client("http://127.0.0.1:1");
    let error = missing.collections().await.unwrap_err();
    assert_eq!(error.kind(), "unreachable");
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(!format!("{missing:?} {error}").contains("k-1"));
}

#[test]
fn an_address_or_a_key_that_cannot_be_used_is_refused() {
    for url in ["http://a:b@c", "ftp://c", "c:1", "http://c?d", "http://", "http://c/qdrant"] {
        let error = Client::new(ClientOptions::new(url)).unwrap_err();
        assert!(error.to_string().starts_with("vectorDB.url is invalid"), "{url}: {error}");
    }
    assert!(Client::new(ClientOptions::new("https://c:6334")).is_ok(), "TLS is possible");
    let options = ClientOptions { api_key: Some(ApiKey::new("a\nb")), ..ClientOptions::new("http://c") };
    assert_eq!(Client::new(options).unwrap_err().kind(), "invalid_setting");
}

#[test]
fn statuses_have_their_kinds_and_no_key() {
    let key = ApiKey::new("k-1");
    for (code, kind) in [
        (Code::Unavailable, "unreachable"),
        (Code::DeadlineExceeded, "timeout"),
        (Code::ResourceExhausted, "unavailable"),
        (Code::Internal, "unavailable"),
        (Code::FailedPrecondition, "unavailable"),
        (Code::InvalidArgument, "refused"),
        (Code::Unauthenticated, "refused"),
        (Code::NotFound, "refused"),
    ] {
        let error = of_status(&Status::new(code, "no k-1"), Some(&key));
        assert_eq!(error.kind(), kind, "{code:?}");
        assert!(!error.to_string().contains("k-1"));
        assert_eq!(is_not_found(&error), code == Code::NotFound);
    }
}

#[test]
fn old_versions_are_refused() {
    for (version, expected) in
        [("1.13.0", true), ("1.12.4", false), ("1.9.7", false), ("2.0.0", true), ("1.17.1-dev", true), ("dev", true)]
    {
        assert_eq!(is_new_enough(version), expected, "{version}");
    }
}
