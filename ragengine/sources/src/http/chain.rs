use std::net::IpAddr;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};

use crate::FetchError;
use crate::address::{Reach, is_public};

/// How often a server may send elsewhere.
const MAX_REDIRECTS: usize = 5;

/// A request, and those that redirects make of it.
#[derive(Debug)]
pub struct Chain {
    url: Url,
    reach: Reach,
    is_trusted: bool,
    redirects: usize,
}

impl Chain {
    /// One that begins at a URL to which credentials may be sent, or not.
    pub fn new(url: Url, is_trusted: bool) -> Self {
        Self { url, reach: Reach::Any, is_trusted, redirects: 0 }
    }

    /// What is asked next.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// How far that may be.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether the credentials may be sent there: from the first redirect on that leads to another origin they are not.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Goes on to where an answer sends. False: it is the last.
    ///
    /// What counts is the address from which the answer came, not what its name resolves to at some other time. One that is not known may be
    /// public.
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
            return Err(FetchError::Redirect("it does not say where to"));
        };
        // A name and a password in it would be sent.
        if next.set_username("").is_err() || next.set_password(None).is_err() {
            return Err(FetchError::Redirect("it does not say where to"));
        }
        self.redirects += 1;
        if self.redirects > MAX_REDIRECTS {
            return Err(FetchError::Redirect("it does so more than 5 times"));
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
    fn a_redirect_says_where_to() {
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
    fn what_was_public_once_leads_to_public_addresses_only() {
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
    fn a_chain_ends() {
        let mut chain = chain();
        let followed = (0..6).map(|_| follow(&mut chain, "10.0.0.7", 302, "/a").is_ok()).collect::<Vec<_>>();
        assert_eq!(followed, [true, true, true, true, true, false]);
    }
}
