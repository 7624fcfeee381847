use reqwest::Url;

use crate::SourceError;

/// Reads an address that somebody wrote into a source.
pub fn parse_url(text: &str) -> Result<Url, SourceError> {
    let refused = |reason| SourceError::Address { url: without_credentials(text), reason };
    let url = Url::parse(text).map_err(|_| refused("it is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("it must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("a name or a password belongs into the Secret of accessSecret"));
    }
    Ok(url)
}

/// What may be shown of a text that was meant as a URL.
fn without_credentials(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}…{}", &text[..scheme + 3], &text[at..]),
        (None, Some(at)) => format!("…{}", &text[at..]),
        _ => text.to_owned(),
    }
}
