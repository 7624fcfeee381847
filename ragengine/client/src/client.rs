//! The client itself: of which server it is, and how that is reached. What can be asked is in a module for each kind of thing.

mod documents;
mod error;
mod indexes;
mod sending;
mod sources;
mod status;

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;

use self::error::innermost;

pub use error::ClientError;
pub(crate) use error::refusal;

/// Embedding a batch of documents on a busy machine takes its time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client of one server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    base: Url,
    /// Marked as sensitive: it is not printed.
    authorization: Option<HeaderValue>,
    trust: Trust,
}

/// Whether a server may say as much as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Full,
    Guarded,
}

impl Client {
    /// A client of the server at `base`, for example `http://127.0.0.1:5000`, by way of the proxy that the environment names, when it names
    /// one.
    ///
    /// # Errors
    ///
    /// [`ClientError::Address`] when that is no HTTP address.
    pub fn new(base: &str) -> Result<Self, ClientError> {
        Self::with_http(base, reqwest::Client::builder(), Trust::Full)
    }

    /// The same without any proxy, whatever the environment says: inside a cluster.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn direct(base: &str) -> Result<Self, ClientError> {
        Self::with_http(base, reqwest::Client::builder().no_proxy(), Trust::Full)
    }

    /// The same for a server that anybody may have put there: no redirect is followed, of a reply at most 256 KiB are read, and at most 200 characters
    /// of what it says are repeated.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn guarded(base: &str) -> Result<Self, ClientError> {
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Self::with_http(base, builder, Trust::Guarded)
    }

    /// A client of another server, without this one's token. Both share what connections are made with, which costs more than all else.
    ///
    /// # Errors
    ///
    /// [`ClientError::Address`] when that is no HTTP address.
    pub fn at(&self, base: &str) -> Result<Self, ClientError> {
        Ok(Self { http: self.http.clone(), base: address(base)?, authorization: None, trust: self.trust })
    }

    fn with_http(base: &str, builder: reqwest::ClientBuilder, trust: Trust) -> Result<Self, ClientError> {
        let base = address(base)?;
        let http = builder.connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT).build();
        let http = http.map_err(|error| ClientError::Http(innermost(&error)))?;
        Ok(Self { http, base, authorization: None, trust })
    }

    /// The same client with a token, which servers may want for writes.
    ///
    /// # Errors
    ///
    /// [`ClientError::Token`] when no header can hold it.
    pub fn with_token(self, token: &str) -> Result<Self, ClientError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ClientError::Token)?;
        value.set_sensitive(true);
        Ok(Self { authorization: Some(value), ..self })
    }
}

fn address(text: &str) -> Result<Url, ClientError> {
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
    Url::parse(text).ok().filter(is_http).ok_or_else(|| ClientError::Address(text.to_owned()))
}
