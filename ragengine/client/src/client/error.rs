//! Errors of the client.

use std::error::Error;
use std::io;

use reqwest::StatusCode;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server's address is invalid.
    #[error("'{0}' is not the address of a server: it must look like http://127.0.0.1:5000")]
    Address(String),
    /// The token cannot be sent in a header.
    #[error("the token has characters that are not allowed in a header")]
    Token,
    /// The authorities to trust are no certificates.
    #[error("the file of trusted authorities contains no certificate in PEM format")]
    Authorities,
    /// The HTTP client cannot be created.
    #[error("cannot create an HTTP client: {0}")]
    Http(String),
    /// The connection failed.
    #[error("no connection to {url}: {reason}")]
    Unreachable {
        /// The server's address.
        url: String,
        /// The cause.
        reason: String,
    },
    /// The connection failed, because the server's certificate is not trusted or has another name. Another attempt does
    /// not help.
    #[error("no connection to {url}: {reason}")]
    Untrusted {
        /// The server's address.
        url: String,
        /// The cause.
        reason: String,
    },
    /// The request failed after the connection, or the reply is invalid.
    #[error("no answer from {url}: {reason}")]
    Transport {
        /// The server's address.
        url: String,
        /// The cause.
        reason: String,
    },
    /// The server refused the request.
    #[error("the server answered {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's message.
        message: String,
    },
}

impl ClientError {
    /// The error of a request to `url` that got no complete reply.
    pub fn of_request(url: impl Into<String>, error: &reqwest::Error) -> Self {
        let url = url.into();
        match (error.is_timeout(), error.is_connect()) {
            (true, _) => Self::Transport { url, reason: "the request timed out".to_owned() },
            (_, true) if is_about_certificate(error) => Self::Untrusted { url, reason: innermost(error) },
            (_, true) => Self::Unreachable { url, reason: innermost(error) },
            _ => Self::Transport { url, reason: innermost(error) },
        }
    }

    /// Whether the server refused the documents that were sent, so that it may accept others.
    pub fn is_document_error(&self) -> bool {
        matches!(self, Self::Refused { status: 400 | 413 | 422, .. })
    }

    /// Whether no connection to the server could be made, for another reason than its certificate.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether the server requires a token, or a different one.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Whether the requested object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Whether the server serves, but one of its indexes cannot be used. One that the server reopens at this moment is
    /// only waited for.
    pub fn is_unavailable_index(&self) -> bool {
        let Self::Refused { status: 503, message } = self else { return false };
        message.starts_with("index '")
            && message.contains("' cannot be used now: ")
            && !message.ends_with("it is being reopened")
    }

    /// Whether the request conflicts with the server's state: for example, another synchronisation has locked the
    /// source.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }
}

/// The innermost cause of an error, without the address that reqwest includes.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut reason: &(dyn Error + 'static) = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// Whether an error, or a cause of it, is that the server's certificate was not accepted.
fn is_about_certificate(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidCertificate(_)) = error.downcast_ref::<rustls::Error>() {
            return true;
        }
        next = cause(error);
    }
    false
}

/// The cause of an error. An I/O error gives the source of the error that it wraps instead of that error.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(wrapped) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        return Some(wrapped);
    }
    error.source()
}

/// The server's error message, from JSON or from plain text.
pub(crate) fn refusal(status: StatusCode, text: &str) -> ClientError {
    let body: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let message = match &body["detail"] {
        serde_json::Value::String(detail) => detail.clone(),
        serde_json::Value::Null => text.chars().take(500).collect(),
        fields => fields.to_string(),
    };
    ClientError::Refused { status: status.as_u16(), message }
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError};

    use super::*;

    #[test]
    fn an_error_of_a_certificate_is_found_in_any_depth() {
        let untrusted = || rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let wrapped = |error: rustls::Error| io::Error::new(io::ErrorKind::InvalidData, error);
        let alert = rustls::Error::AlertReceived(AlertDescription::InternalError);
        let errors: [(Box<dyn Error>, bool); 6] = [
            (untrusted().into(), true),
            (wrapped(untrusted()).into(), true),
            (io::Error::other(wrapped(untrusted())).into(), true),
            (wrapped(alert).into(), false),
            (io::Error::from(io::ErrorKind::ConnectionRefused).into(), false),
            ("invalid peer certificate".into(), false),
        ];
        for (error, expected) in errors {
            assert_eq!(is_about_certificate(&*error), expected, "{error}");
        }
    }
}
