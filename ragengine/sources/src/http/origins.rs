use std::collections::BTreeSet;

use reqwest::Url;

use crate::SourceError;
use crate::address::parse_url;

/// The origins (scheme, host and port) whose pages and sitemaps a sitemap may list. The author of a sitemap may not be
/// the author of the source, and must not be able to have requests sent to other servers, such as those in the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(BTreeSet<String>);

impl Origins {
    /// Parses `allowedOrigins` of a source.
    pub fn parse(texts: &[String]) -> Result<Self, SourceError> {
        texts.iter().map(|text| parse(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Adds the origin of a URL.
    pub fn with(&self, url: &Url) -> Self {
        let mut origins = self.clone();
        origins.0.insert(origin_of(url));
        origins
    }

    /// Whether the origin of a URL is among them.
    pub fn contain(&self, url: &Url) -> bool {
        self.0.contains(&origin_of(url))
    }
}

/// The origin of a URL as text.
pub fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn parse(text: &str) -> Result<String, SourceError> {
    let url = parse_url(text)?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        let reason = "an origin has no path: write it like https://cdn.example.com";
        return Err(SourceError::Address { url: text.to_owned(), reason });
    }
    Ok(origin_of(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        let cases = [
            ("https://a.example", "https://a.example/x?y", true),
            ("https://A.example:443/", "https://a.example/", true),
            ("http://a.example", "https://a.example/", false),
            ("https://a.example", "http://a.example/", false),
            ("https://a.example", "https://a.example:8443/", false),
            ("https://a.example", "https://b.a.example/", false),
            ("https://a.example", "https://a.example.attacker.example/", false),
            ("http://[::1]:8080", "http://[::1]:8080/", true),
        ];
        for (allowed, url, expected) in cases {
            let origins = Origins::parse(&[allowed.to_owned()]).unwrap();
            assert_eq!(origins.contain(&Url::parse(url).unwrap()), expected, "{url} with {allowed}");
        }
    }

    #[test]
    fn an_invalid_origin_is_refused() {
        for text in ["", "*", "a.example", "ftp://a.example", "https://a.example/x", "https://a.example/?x"] {
            assert_eq!(Origins::parse(&[text.to_owned()]).unwrap_err().kind(), "address", "{text}");
        }
    }
}
