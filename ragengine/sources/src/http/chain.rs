use std::net::IpAddr;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};

use crate::FetchError;
use crate::address::{Reach, is_public};

/// The maximum number of redirects of a request.
const MAX_REDIRECTS: usize = 5;

/// The error of a redirect without a usable target.
const NO_LOCATION: &str = "it has no valid http:// or https:// address in its Location header";

/// A request and its redirects.
#[derive(Debug)]
pub struct Chain {
    url: Url,
    reach: Reach,
    is_trusted: bool,
    redirects: usize,
}

impl Chain {
    /// Begins at a URL. `is_trusted`: whether credentials may be sent to it.
    pub fn new(url: Url, is_trusted: bool) -> Self {
        Self { url, reach: Reach::Any, is_trusted, redirects: 0 }
    }

    /// The URL of the next request.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The addresses that the next request may be sent to.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether credentials may be sent with the next request. This is false after a redirect to another origin.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Follows the redirect of a response. Returns `false` if it is not a redirect.
    ///
    /// `answered_by` is the address that sent the response, because the name of the server may resolve differently
    /// later. An unknown address counts as public.
    pub fn follow(
        &mut self,
        answered_by: Option<IpAddr>,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<bool, FetchError> {
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(false);
        }
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let next = location.and_then(|location| self.url.join(location).ok());
        let Some(mut next) = next.filter(|next| matches!(next.scheme(), "http" | "https")) else {
            return Err(FetchError::Redirect(NO_LOCATION));
        };
        // The client would send a user name and password of the URL.
        if next.set_username("").is_err() || next.set_password(None).is_err() {
            return Err(FetchError::Redirect(NO_LOCATION));
        }
        self.redirects += 1;
        if self.redirects > MAX_REDIRECTS {
            return Err(FetchError::Redirect("it is the sixth in a row, and at most 5 are followed"));
        }
        if answered_by.is_none_or(is_public) {
            self.reach = Reach::Public;
        }
        self.is_trusted &= next.origin() == self.url.origin();
        self.url = next;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(chain: &mut Chain, answered_by: &str, status: u16, location: &str) -> Result<bool, FetchError> {
        let headers = [(LOCATION, location.parse().unwrap())].into_iter().collect();
        chain.follow(answered_by.parse().ok(), StatusCode::from_u16(status).unwrap(), &headers)
    }

    fn chain() -> Chain {
        Chain::new(Url::parse("https://docs.example.com/a/b").unwrap(), true)
    }

    #[test]
    fn a_redirect_leads_to_its_location() {
        let cases = [
            (200, "/c", Ok(None)),
            (304, "/c", Ok(None)),
            (300, "/c", Ok(None)),
            (301, "/c", Ok(Some(("https://docs.example.com/c", true)))),
            (302, "c?x", Ok(Some(("https://docs.example.com/a/c?x", true)))),
            (303, "https://docs.example.com:443/", Ok(Some(("https://docs.example.com/", true)))),
            (307, "//me:secret@other.example/", Ok(Some(("https://other.example/", false)))),
            (308, "http://docs.example.com/", Ok(Some(("http://docs.example.com/", false)))),
            (302, "https://docs.example.com:8443/", Ok(Some(("https://docs.example.com:8443/", false)))),
            (302, "file:///etc/passwd", Err(())),
            (302, "https://", Err(())),
        ];
        for (status, location, expected) in cases {
            let mut chain = chain();
            let found = match follow(&mut chain, "10.0.0.7", status, location) {
                Ok(true) => Ok(Some((chain.url().as_str(), chain.is_trusted()))),
                Ok(false) => Ok(None),
                Err(_) => Err(()),
            };
            assert_eq!(found, expected, "{status} {location}");
        }
    }

    #[test]
    fn a_public_server_leads_to_public_addresses_only() {
        let cases = [
            (&["10.0.0.7", "127.0.0.1", "fd00::7"][..], Reach::Any),
            (&["93.184.216.34"], Reach::Public),
            (&["10.0.0.7", "93.184.216.34", "10.0.0.7"], Reach::Public),
            (&["64:ff9b::93.184.216.34"], Reach::Public),
            (&["unknown"], Reach::Public),
        ];
        for (answered_by, expected) in cases {
            let mut chain = chain();
            assert_eq!(chain.reach(), Reach::Any);
            for address in answered_by {
                assert!(follow(&mut chain, address, 302, "https://other.example/").unwrap());
            }
            assert_eq!(chain.reach(), expected, "{answered_by:?}");
        }
    }

    #[test]
    fn at_most_five_redirects_are_followed() {
        let mut chain = chain();
        let followed = (0..6).map(|_| follow(&mut chain, "10.0.0.7", 302, "/a").is_ok()).collect::<Vec<_>>();
        assert_eq!(followed, [true, true, true, true, true, false]);
    }
}
