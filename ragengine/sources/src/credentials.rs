mod hosts;

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
pub use hosts::check_receiver;
use reqwest::Certificate;
use reqwest::header::HeaderValue;

use crate::SourceError;

/// The keys of a Secret that are read for a web server or a repository.
pub const WEB_KEYS: &str = "token, or username and password";

/// The keys of a Secret that are read for a bucket.
pub const BUCKET_KEYS: &str = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

/// Credentials for a web server or a repository.
#[derive(Clone, Default)]
pub struct WebCredentials {
    /// The value of the `Authorization` header. `None` sends no header.
    pub header: Option<HeaderValue>,
    /// Additional certificate authorities to trust.
    pub authorities: Vec<Certificate>,
}

/// How a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenScheme {
    /// As a `Bearer` token, for web servers.
    Bearer,
    /// As the password of `Basic` authentication, for git servers.
    Password,
}

/// Credentials for a bucket.
#[derive(Clone, Default)]
pub struct BucketCredentials {
    /// The keys that sign requests. `None` sends unsigned requests.
    pub keys: Option<BucketKeys>,
    /// Additional certificate authorities to trust.
    pub authorities: Vec<Certificate>,
}

/// The keys that sign S3 requests.
#[derive(Clone)]
pub struct BucketKeys {
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret that signs.
    pub secret_access_key: String,
    /// The token of temporary credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for WebCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WebCredentials").finish_non_exhaustive()
    }
}

impl WebCredentials {
    /// Reads the files of a mounted Secret. They are read each time a source is opened, so a new password is used at
    /// once.
    pub fn read(folder: Option<&Path>, scheme: TokenScheme) -> Result<Self, SourceError> {
        let Some(folder) = folder else {
            return Ok(Self::default());
        };
        let authorities = authorities(folder)?;
        let [token, username, password] =
            [value(folder, "token")?, value(folder, "username")?, value(folder, "password")?];
        let header = match (token, username, password) {
            (Some(token), None, _) if scheme == TokenScheme::Bearer => format!("Bearer {token}"),
            (Some(token), username, _) => basic(username.as_deref().unwrap_or("git"), &token),
            (None, Some(username), Some(password)) => basic(&username, &password),
            (None, None, None) if !authorities.is_empty() => return Ok(Self { header: None, authorities }),
            _ => return Err(missing(&format!("{WEB_KEYS}, or ca.crt"))),
        };
        let mut header = HeaderValue::try_from(header)
            .map_err(|_| unusable("a value contains a character that cannot be sent in a header"))?;
        header.set_sensitive(true);
        Ok(Self { header: Some(header), authorities })
    }
}

impl BucketCredentials {
    /// Reads the files of a mounted Secret.
    pub fn read(folder: Option<&Path>) -> Result<Self, SourceError> {
        let Some(folder) = folder else {
            return Ok(Self::default());
        };
        let authorities = authorities(folder)?;
        let keys = match (value(folder, "AWS_ACCESS_KEY_ID")?, value(folder, "AWS_SECRET_ACCESS_KEY")?) {
            (Some(access_key_id), Some(secret_access_key)) => Some(BucketKeys {
                access_key_id,
                secret_access_key,
                session_token: value(folder, "AWS_SESSION_TOKEN")?,
            }),
            (None, None) if !authorities.is_empty() => None,
            _ => return Err(missing(&format!("{BUCKET_KEYS}, or ca.crt"))),
        };
        Ok(Self { keys, authorities })
    }
}

fn basic(username: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{username}:{password}")))
}

fn authorities(folder: &Path) -> Result<Vec<Certificate>, SourceError> {
    let Some(text) = value(folder, "ca.crt")? else {
        return Ok(Vec::new());
    };
    match Certificate::from_pem_bundle(text.as_bytes()) {
        Ok(authorities) if !authorities.is_empty() => Ok(authorities),
        _ => Err(unusable("ca.crt contains no certificate in PEM format")),
    }
}

/// The value of a key, without surrounding white space, such as a final line break. `None` if it is empty or missing.
fn value(folder: &Path, key: &str) -> Result<Option<String>, SourceError> {
    match std::fs::read_to_string(folder.join(key)) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(&format!("{key} cannot be read: {error}"))),
    }
}

fn missing(keys: &str) -> SourceError {
    unusable(&format!("it must contain {keys}"))
}

fn unusable(reason: &str) -> SourceError {
    SourceError::Credentials(reason.to_owned())
}

#[cfg(test)]
mod tests;
