//! The HTTP client: its server's address, connection and token. Each kind of request has a separate module.

mod documents;
mod error;
mod indexes;
mod sending;
mod sources;
mod status;

use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Certificate, Url};

use self::error::innermost;

pub use error::ClientError;
pub(crate) use error::refusal;

/// Long, because embedding a batch of documents on a busy machine is slow.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client of one server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    base: Url,
    /// Marked as sensitive, so that `Debug` does not print it.
    authorization: Option<HeaderValue>,
    trust: Trust,
}

/// Whether the length of a server's replies is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Full,
    Guarded,
}

impl Client {
    /// Creates a client of the server at `base`, for example `http://127.0.0.1:5000`. It uses the proxy that the
    /// environment variables configure, if any.
    ///
    /// # Errors
    ///
    /// [`ClientError::Address`] when `base` is not an HTTP address.
    pub fn new(base: &str) -> Result<Self, ClientError> {
        Self::with_http(base, reqwest::Client::builder(), Trust::Full)
    }

    /// Creates a client that ignores proxies in the environment, for use inside a cluster.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn direct(base: &str) -> Result<Self, ClientError> {
        Self::with_http(base, reqwest::Client::builder().no_proxy(), Trust::Full)
    }

    /// Creates a client like [`Self::direct`] that trusts the authorities in `pem`, certificates in PEM format, besides
    /// those that the system trusts. A self-signed certificate of a server is its own authority.
    ///
    /// # Errors
    ///
    /// [`ClientError::Authorities`] when `pem` contains no certificate, otherwise as [`Self::new`].
    pub fn direct_trusting(base: &str, pem: &[u8]) -> Result<Self, ClientError> {
        let authorities = Certificate::from_pem_bundle(pem).ok().filter(|authorities| !authorities.is_empty());
        let authorities = authorities.ok_or(ClientError::Authorities)?;
        Self::with_http(base, reqwest::Client::builder().no_proxy().tls_certs_merge(authorities), Trust::Full)
    }

    /// Creates a client of an untrusted server. It uses no proxy, follows no redirects, reads at most 256 KiB of a
    /// reply and repeats at most 200 characters of the server's messages. Over `https://` the connection is encrypted,
    /// but the certificate is not verified: the caller knows the server by its IP address.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn guarded(base: &str) -> Result<Self, ClientError> {
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let builder = builder.tls_danger_accept_invalid_certs(true);
        Self::with_http(base, builder, Trust::Guarded)
    }

    /// Creates a client of another server, without this client's token. Both share the connection pool, which is
    /// expensive to create.
    ///
    /// # Errors
    ///
    /// [`ClientError::Address`] when `base` is not an HTTP address.
    pub fn at(&self, base: &str) -> Result<Self, ClientError> {
        Ok(Self { http: self.http.clone(), base: address(base)?, authorization: None, trust: self.trust })
    }

    fn with_http(base: &str, builder: reqwest::ClientBuilder, trust: Trust) -> Result<Self, ClientError> {
        let base = address(base)?;
        let http = builder.connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT).build();
        let http = http.map_err(|error| ClientError::Http(innermost(&error)))?;
        Ok(Self { http, base, authorization: None, trust })
    }

    /// Adds a token, which servers may require for writes.
    ///
    /// # Errors
    ///
    /// [`ClientError::Token`] when the token has characters that are not allowed in a header.
    pub fn with_token(self, token: &str) -> Result<Self, ClientError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ClientError::Token)?;
        value.set_sensitive(true);
        Ok(Self { authorization: Some(value), ..self })
    }
}

#[cfg(test)]
mod tests;

fn address(text: &str) -> Result<Url, ClientError> {
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
    Url::parse(text).ok().filter(is_http).ok_or_else(|| ClientError::Address(text.to_owned()))
}
