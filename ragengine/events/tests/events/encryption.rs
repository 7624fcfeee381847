//! Encrypted connections.

use std::process::Command;

use ragengine_events::EventOptions;

use crate::publisher::{Publisher, options};
use crate::test_rabbitmq::{PASSWORD, TestRabbitMq, USER};

pub async fn a_certificate_must_be_trusted(server: &mut TestRabbitMq) {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let port = tokio::task::block_in_place(|| server.encrypt(&certificate, &key));
    let url = format!("amqps://{USER}@127.0.0.1:{port}");
    let publisher = Publisher::start(&EventOptions { url: url.clone(), ..options(server, "encrypted") });
    publisher.has_problem("certificate").await;
    // What the system trusts is read from the environment, which is that of the whole process.
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("trusted.pem");
    std::fs::write(&trusted, certificate).unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "encryption::an_encrypted_connection_works", "--ignored"]);
    other.env("SSL_CERT_FILE", &trusted).env("TEST_EVENTS_URL", url);
    let output = tokio::task::block_in_place(|| other.output().unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[tokio::test]
#[ignore = "another test runs it with a server and an environment"]
async fn an_encrypted_connection_works() {
    let publisher = Publisher::start(&EventOptions {
        url: std::env::var("TEST_EVENTS_URL").unwrap(),
        password: Some(PASSWORD.to_owned()),
        exchange: "encrypted".to_owned(),
        source: "/a".to_owned(),
    });
    publisher.ask(0..3);
    publisher.until("unrouted", || publisher.ended("unrouted") == 3).await;
    assert_eq!(publisher.events.problem(), None);
}
