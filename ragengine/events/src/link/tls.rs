use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Encrypts a connection to this host, whose certificate must be one that the system trusts.
///
/// # Errors
///
/// `InvalidData` if the certificate is not trusted, and errors of the connection.
pub(super) async fn encrypt(stream: TcpStream, host: &str) -> io::Result<TlsStream<TcpStream>> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidData);
    let name = ServerName::try_from(host.to_owned()).map_err(invalid)?;
    // They are read again for each connection, because they may have been renewed.
    let config = spawn_blocking(config).await.map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config?)).connect(name, stream).await
}

fn config() -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
