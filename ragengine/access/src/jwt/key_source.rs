use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};
use sha2::{Digest as _, Sha256};

use super::KeysAt;
use super::key_set::KeySet;
use crate::AuthError;
use crate::small_file::SmallFile;

/// The longest JWK set, in bytes.
const MAX_SET_BYTES: usize = 1 << 20;

/// The time for reading a JWK set from an address.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The redirects that are followed at most.
const MAX_REDIRECTS: usize = 3;

/// Where the keys of an issuer are read.
pub(super) enum KeySource {
    File(SmallFile),
    Url { client: Client, url: Url, last: Option<[u8; 32]> },
}

impl KeySource {
    /// Prepares reading. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`AuthError::KeysUrl`].
    pub fn new(at: &KeysAt) -> Result<Self, AuthError> {
        match at {
            KeysAt::File(path) => Ok(Self::File(SmallFile::new(path.clone(), MAX_SET_BYTES as u64))),
            KeysAt::Url(text) => {
                // The address is not quoted, because it may contain a password.
                let url =
                    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
                let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
                let url = url.ok_or(AuthError::KeysUrl)?;
                let client = Client::builder()
                    .timeout(FETCH_TIMEOUT)
                    .retry(reqwest::retry::never())
                    .redirect(Policy::custom(follow))
                    .build()
                    .map_err(|error| AuthError::Client(error.to_string()))?;
                Ok(Self::Url { client, url, last: None })
            }
        }
    }

    /// Where that is, for the log.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::File(_) => "auth.jwt.jwksFile",
            Self::Url { .. } => "auth.jwt.jwksUrl",
        }
    }

    /// Reads the keys. None if they are those of the last call.
    ///
    /// # Errors
    ///
    /// What is wrong, in words for people.
    pub async fn changed(&mut self) -> Result<Option<KeySet>, String> {
        let content = match self {
            Self::File(file) => file.changed().await.map_err(|error| error.to_string()),
            Self::Url { client, url, last } => fetch(client, url).await.map(|content| {
                let hash = Sha256::digest(&content).into();
                (last.replace(hash) != Some(hash)).then_some(content)
            }),
        };
        let read = content.and_then(|content| {
            let parsed = content.map(|content| KeySet::parse(&content));
            parsed.transpose().map_err(|error| error.to_string())
        });
        // The same content would otherwise not end a problem, nor be a problem again.
        read.inspect_err(|_| self.forget())
    }

    fn forget(&mut self) {
        match self {
            Self::File(file) => file.forget(),
            Self::Url { last, .. } => *last = None,
        }
    }
}

/// Follows redirects within a server only: another one is not the issuer's.
fn follow(attempt: Attempt) -> reqwest::redirect::Action {
    let origin = attempt.previous().first().map(Url::origin);
    if origin.as_ref() == Some(&attempt.url().origin()) && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

async fn fetch(client: &Client, url: &Url) -> Result<Vec<u8>, String> {
    let failed = |error: reqwest::Error| {
        let words = match () {
            () if error.is_timeout() => format!("its address did not answer within {} s", FETCH_TIMEOUT.as_secs()),
            () if error.is_connect() => "nothing answers at its address, or its certificate is not trusted".to_owned(),
            () => "the reply broke off".to_owned(),
        };
        // The error itself would quote the address.
        drop(error);
        words
    };
    let mut response = client.get(url.clone()).send().await.map_err(failed)?;
    if response.status().is_redirection() {
        return Err("its address redirects to another server, or too often".to_owned());
    }
    if !response.status().is_success() {
        return Err(format!("its address answered with the status {}", response.status().as_u16()));
    }
    let mut content = Vec::new();
    while let Some(part) = response.chunk().await.map_err(failed)? {
        if content.len() + part.len() > MAX_SET_BYTES {
            return Err(format!("the reply has more than {MAX_SET_BYTES} bytes"));
        }
        content.extend_from_slice(&part);
    }
    Ok(content)
}
