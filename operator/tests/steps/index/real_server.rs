//! A real HTTP server for the engine `docs`, with its pod.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::api_server::ApiServer;

/// Serves on a separate loopback address per test, because the port is always 5000.
pub async fn serve(server: &ApiServer, address: &'static str, router: Router) -> JoinHandle<()> {
    let listener = listener(address).await;
    put_pod(server, address, None);
    tokio::spawn(async { axum::serve(listener, router).await.unwrap() })
}

/// Like [`serve`], with a certificate that no client trusts.
pub async fn serve_with_tls(server: &ApiServer, address: &'static str, router: Router) -> JoinHandle<()> {
    let listener = Encrypted { listener: listener(address).await, acceptor: acceptor() };
    put_pod(server, address, Some("https"));
    tokio::spawn(async { axum::serve(listener, router).await.unwrap() })
}

async fn listener(address: &str) -> TcpListener {
    drop(rustls::crypto::ring::default_provider().install_default());
    TcpListener::bind((address, 5000)).await.unwrap()
}

fn acceptor() -> TlsAcceptor {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["docs.tests.svc.cluster.local".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![cert.der().clone()], key);
    TlsAcceptor::from(Arc::new(config.unwrap()))
}

struct Encrypted {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Encrypted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (connection, address) = axum::serve::Listener::accept(&mut self.listener).await;
            if let Ok(connection) = self.acceptor.accept(connection).await {
                return (connection, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

fn put_pod(server: &ApiServer, address: &str, scheme: Option<&str>) {
    let mut labels = json!({
        "app.kubernetes.io/name": "ragengine", "app.kubernetes.io/instance": "docs",
        "app.kubernetes.io/managed-by": "ragengine-operator",
    });
    if let Some(scheme) = scheme {
        labels["ragengine.dev/scheme"] = json!(scheme);
    }
    server.put(
        "pods",
        json!({
            "metadata": {"name": "docs-1", "labels": labels},
            "status": {"phase": "Running", "podIP": address, "containerStatuses": [{
                "name": "ragengine", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": "2026-11-22T09:00:01Z"}},
            }]},
        }),
    );
}

/// Waits until a condition holds, in real time. Panics after 60 s.
pub async fn until(what: &str, server: &ApiServer, holds: impl Fn() -> bool) {
    let holds = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let outcome = tokio::time::timeout(Duration::from_secs(60), holds).await;
    outcome.unwrap_or_else(|_| panic!("{what} never holds; the last calls: {:#?}", server.calls()));
}
