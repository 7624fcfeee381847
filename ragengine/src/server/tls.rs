//! TLS on the server's port. The certificate and its key are read again when their files change, so that a renewed
//! certificate needs no restart. Connections keep the certificate with which they began.

mod files;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use files::Files;
pub use files::TlsError;
use parking_lot::RwLock;
use ragengine_settings::Tls as TlsSettings;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{error, info, warn};

/// The time between two looks at the files.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The only protocol of the server, for clients that ask (ALPN).
const HTTP_1_1: &[u8] = b"http/1.1";

/// What encrypts connections.
pub struct Tls {
    acceptor: TlsAcceptor,
    certificate: Arc<Current>,
    files: Files,
}

/// The certificate for the next connection.
struct Current(RwLock<Arc<CertifiedKey>>);

impl fmt::Debug for Current {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Current")
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

impl Tls {
    /// Reads the certificate and the key. None if the settings name none.
    ///
    /// # Errors
    ///
    /// [`TlsError`]: a file cannot be read or used, or they do not belong together.
    pub fn open(settings: &TlsSettings) -> Result<Option<Arc<Self>>, TlsError> {
        let Some(files) = Files::of(settings) else { return Ok(None) };
        let certificate = Arc::new(Current(RwLock::new(Arc::new(files.read()?.certified_key()?))));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Unusable(error.to_string()))?;
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::clone(&certificate) as _);
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        Ok(Some(Arc::new(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate, files })))
    }

    /// Encrypts a connection. The caller limits the time.
    ///
    /// # Errors
    ///
    /// The error of the handshake.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<TlsStream<S>> {
        self.acceptor.accept(stream).await
    }

    /// Looks at the files every two seconds, and takes over what has changed. Never ends.
    pub async fn watch(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let tls = Arc::clone(&self);
            if let Err(error) = spawn_blocking(move || tls.refresh()).await {
                error!(%error, "the certificate could not be read again");
            }
        }
    }

    /// Reads the files, and takes over what has changed. Files that cannot be used change nothing.
    pub fn refresh(&self) {
        match self.files.changed() {
            Ok(None) => {}
            Ok(Some(certificate)) => {
                *self.certificate.0.write() = Arc::new(certificate);
                info!("TLS certificate read again: new connections get it");
            }
            Err(error) => {
                warn!(kind = error.kind(), %error, "TLS certificate not read again: the last one stays");
            }
        }
    }
}

#[cfg(test)]
mod tests;
