use reqwest::Url;

use crate::SourceError;

/// Parses an address from a source or a sitemap. It must be an HTTP or HTTPS URL without credentials.
pub fn parse_url(text: &str) -> Result<Url, SourceError> {
    let refused = |reason| SourceError::Address { url: without_credentials(text), reason };
    let url = Url::parse(text).map_err(|_| refused("it is not a URL: write it like https://docs.example.com/page"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("it must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("remove the user name and password, and put them into the Secret in accessSecret"));
    }
    Ok(url)
}

/// A text that may be a URL, with possible credentials replaced by `…`.
fn without_credentials(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}…{}", &text[..scheme + 3], &text[at..]),
        (None, Some(at)) => format!("…{}", &text[at..]),
        _ => text.to_owned(),
    }
}
