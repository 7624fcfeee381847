//! Derives the endpoint's URL from the configured address.

use reqwest::Url;

use crate::Error;
use crate::http::printable;

/// Completes an address: `…/embeddings` is used unchanged, `/embeddings` is appended to a base, and `/v1/embeddings`
/// to a bare host. A query is kept.
///
/// # Errors
///
/// The text is not an HTTP address, or it contains credentials.
pub(super) fn embeddings(text: &str) -> Result<Url, Error> {
    // The text is not quoted, because it may contain a credential.
    let mut url = Url::parse(text)
        .map_err(|error| Error::Configuration(format!("the embedding endpoint's url is invalid: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("the embedding endpoint's url {} must begin with https:// or http://", printable(&url));
        return Err(Error::Configuration(message));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let message = "the embedding endpoint's url must not contain a user or password: use the API key".to_owned();
        return Err(Error::Configuration(message));
    }
    let path = match url.path().trim_end_matches('/') {
        "" => "/v1/embeddings".to_owned(),
        whole if whole.ends_with("/embeddings") => whole.to_owned(),
        base => format!("{base}/embeddings"),
    };
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::embeddings;

    #[test]
    fn addresses_are_completed() {
        let cases = [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/embeddings"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1/embeddings"),
            ("http://tei:8080", "http://tei:8080/v1/embeddings"),
            ("http://host/v1/embeddings", "http://host/v1/embeddings"),
            ("http://host/v1/embeddings/", "http://host/v1/embeddings"),
            (
                "https://host/openai/deployments/x/embeddings?api-version=1",
                "https://host/openai/deployments/x/embeddings?api-version=1",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(embeddings(text).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn an_invalid_address_is_refused_without_showing_credentials() {
        for text in ["", "host:80/v1", "ftp://host", "https://user:hunter2@host/v1", "/v1"] {
            let error = embeddings(text).unwrap_err();
            assert_eq!(error.kind(), "configuration", "{text}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
