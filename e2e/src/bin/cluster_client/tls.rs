//! TLS with a certificate authority that only the test trusts.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A host's certificate, and the certificate of its authority.
pub struct Identity {
    /// The authority's certificate as PEM.
    pub authority: String,
    /// Accepts connections with the host's certificate.
    pub acceptor: TlsAcceptor,
}

impl Identity {
    /// Creates an authority and a host certificate, with new keys.
    pub fn make(host: &str) -> anyhow::Result<Self> {
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec![host.to_owned()])?.signed_by(&key, &authority)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let chain = vec![certificate.der().clone()];
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
        Ok(Self { authority: authority.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

/// Accepts connections and completes their TLS handshake.
pub struct Listener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener {
    /// Wraps a TCP listener.
    pub fn new(listener: TcpListener, acceptor: TlsAcceptor) -> Self {
        Self { listener, acceptor }
    }
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    /// A client that does not trust the authority fails the handshake. The listener then accepts the next connection.
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
