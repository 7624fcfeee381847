//! TLS on the server's own port.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rcgen::{CertifiedKey, KeyPair};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::support::process::{Process, program};

/// A server with a certificate for localhost in `folder`.
async fn start(folder: &TempDir) -> (Process, reqwest::Certificate) {
    let certificate = renew(folder);
    let (data, settings) = (folder.path().join("data"), settings(folder));
    let starting = move || Process::start_configured_unready(&data, &settings);
    (tokio::task::spawn_blocking(starting).await.unwrap(), certificate)
}

/// A file of settings with the certificate and the key in `folder`.
fn settings(folder: &TempDir) -> PathBuf {
    let file = |name: &str| folder.path().join(name).display().to_string();
    let path = folder.path().join("settings.yaml");
    let yaml = format!("tls: {{certificateFile: '{}', keyFile: '{}'}}", file("tls.crt"), file("tls.key"));
    fs::write(&path, yaml).unwrap();
    path
}

/// Writes a new certificate, which signs itself.
fn renew(folder: &TempDir) -> reqwest::Certificate {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    write(folder, &cert.pem(), &signing_key);
    reqwest::Certificate::from_pem(cert.pem().as_bytes()).unwrap()
}

fn write(folder: &TempDir, certificate: &str, key: &KeyPair) {
    fs::write(folder.path().join("tls.crt"), certificate).unwrap();
    fs::write(folder.path().join("tls.key"), key.serialize_pem()).unwrap();
}

fn client(trusted: &reqwest::Certificate) -> reqwest::Client {
    reqwest::Client::builder().tls_certs_only([trusted.clone()]).build().unwrap()
}

async fn is_served(client: &reqwest::Client, server: &Process) -> bool {
    let address = server.url.replace("http://", "https://");
    client.get(format!("{address}/livez")).send().await.is_ok_and(|reply| reply.status() == 200)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_encrypted_with_a_certificate_that_can_be_renewed() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let folder = tempfile::tempdir().unwrap();
    let (server, first) = start(&folder).await;
    let old = client(&first);
    let address = server.url.replace("http://", "https://");
    assert!(is_served(&old, &server).await);
    // Plain HTTP and other certificates are refused.
    assert!(reqwest::get(format!("{}/livez", server.url)).await.is_err());
    let stranger = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = reqwest::Certificate::from_pem(stranger.cert.pem().as_bytes()).unwrap();
    assert!(!is_served(&client(&other), &server).await);
    let second = renew(&folder);
    let renewed = async {
        while !is_served(&client(&second), &server).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), renewed).await.expect("the new certificate is served");
    let metrics = client(&second).get(format!("{address}/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(
        metrics.contains("ragengine_connections_closed_total{listener=\"listen\",reason=\"handshake\"}"),
        "{metrics}"
    );
    tokio::task::spawn_blocking(move || server.terminate()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_agrees_on_a_key_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = start(&folder).await;
    let mut silent = TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap();
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(30), silent.read_to_end(&mut rest)).await;
    assert!(ended.is_ok() && rest.is_empty(), "{ended:?}");
    tokio::task::spawn_blocking(move || server.terminate()).await.unwrap();
}

#[test]
fn a_server_whose_key_is_missing_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    renew(&folder);
    fs::remove_file(folder.path().join("tls.key")).unwrap();
    let output = program().args(["serve", "--config"]).arg(settings(&folder)).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("tls.keyFile") && error.contains("cannot be read"), "{error}");
}
