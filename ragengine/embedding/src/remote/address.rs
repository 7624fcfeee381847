//! The endpoint's address from what people write.

use reqwest::Url;

use crate::Error;
use crate::http::printable;

/// `…/embeddings` as it is; behind a base, `/embeddings`; behind a bare host, `/v1/embeddings`. A query is kept.
///
/// # Errors
///
/// It is no address for HTTP, or it has credentials.
pub(super) fn embeddings(text: &str) -> Result<Url, Error> {
    // The text may hold a credential: it is not repeated.
    let mut url = Url::parse(text)
        .map_err(|error| Error::Configuration(format!("the embedding endpoint's url is not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("the embedding endpoint's url {} must begin with https:// or http://", printable(&url));
        return Err(Error::Configuration(message));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let message = "the embedding endpoint's url must not have a user or password: use its key".to_owned();
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
    fn bases_and_whole_addresses() {
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
    fn what_is_not_one_is_refused_without_showing_credentials() {
        for text in ["", "host:80/v1", "ftp://host", "https://user:hunter2@host/v1", "/v1"] {
            let error = embeddings(text).unwrap_err();
            assert_eq!(error.kind(), "configuration", "{text}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
