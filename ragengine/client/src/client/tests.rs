//! A real server with TLS.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::*;
use crate::wire::EngineStatus;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for `localhost` and its key. Without an authority it is self-signed.
fn certificate(authority: Option<&Authority>) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = match authority {
        Some(authority) => params.signed_by(&key, authority),
        None => params.self_signed(&key),
    };
    (certificate.unwrap(), key)
}

/// Serves a status until the test ends, and returns the port.
async fn serve(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> u16 {
    drop(rustls::crypto::ring::default_provider().install_default());
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(socket).await {
                answer(stream).await;
            }
        }
    });
    port
}

async fn answer(mut stream: TlsStream<TcpStream>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let status = serde_json::to_string(&EngineStatus { documents: 7, ..EngineStatus::default() }).unwrap();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", status.len());
    stream.write_all(format!("{head}{status}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}

async fn documents(client: Result<Client, ClientError>) -> Result<u64, ClientError> {
    Ok(client?.status().await?.documents)
}

/// Asserts that the connection failed because of the certificate.
fn assert_untrusted(answer: Result<u64, ClientError>) {
    let error = answer.unwrap_err();
    assert!(matches!(error, ClientError::Untrusted { .. }), "{error:?}");
    assert!(!error.is_unreachable() && error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    for scheme in ["http", "https"] {
        let error = documents(Client::direct(&format!("{scheme}://127.0.0.1:{port}"))).await.unwrap_err();
        assert!(error.is_unreachable(), "{error:?}");
    }
}

#[tokio::test]
async fn a_private_authority_must_be_trusted_and_the_name_must_fit() {
    let (ours, other) = (authority(), authority());
    let (certificate, key) = certificate(Some(&ours));
    let port = serve(vec![certificate.der().clone()], &key).await;
    let base = format!("https://localhost:{port}");
    let both = format!("{}{}", other.pem(), ours.pem());
    for pem in [ours.pem(), both] {
        assert_eq!(documents(Client::direct_trusting(&base, pem.as_bytes())).await.unwrap(), 7);
    }
    assert_untrusted(documents(Client::direct_trusting(&base, other.pem().as_bytes())).await);
    assert_untrusted(documents(Client::direct(&base)).await);
    assert_untrusted(documents(Client::new(&base)).await);
    let by_address = format!("https://127.0.0.1:{port}");
    assert_untrusted(documents(Client::direct_trusting(&by_address, ours.pem().as_bytes())).await);
}

/// A Secret without `ca.crt` has only the server's certificates.
#[tokio::test]
async fn the_certificates_of_the_server_can_stand_for_their_authority() {
    let (alone, key) = certificate(None);
    let port = serve(vec![alone.der().clone()], &key).await;
    let client = Client::direct_trusting(&format!("https://localhost:{port}"), alone.pem().as_bytes());
    assert_eq!(documents(client).await.unwrap(), 7);

    let authority = authority();
    let (issued, key) = certificate(Some(&authority));
    let chain = format!("{}{}", issued.pem(), authority.pem());
    let port = serve(vec![issued.der().clone(), authority.der().clone()], &key).await;
    let client = Client::direct_trusting(&format!("https://localhost:{port}"), chain.as_bytes());
    assert_eq!(documents(client).await.unwrap(), 7);
}

#[tokio::test]
async fn a_server_that_is_known_by_its_address_needs_no_trusted_certificate() {
    let (certificate, key) = certificate(Some(&authority()));
    let port = serve(vec![certificate.der().clone()], &key).await;
    assert_eq!(documents(Client::guarded(&format!("https://127.0.0.1:{port}"))).await.unwrap(), 7);
}

#[test]
fn authorities_must_be_certificates() {
    for pem in ["", "no certificate", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
        let made = Client::direct_trusting("https://localhost", pem.as_bytes());
        assert!(matches!(made, Err(ClientError::Authorities)), "{pem}: {made:?}");
    }
}
