//! Hosts and origins as written in the HTTP headers `Host` and `Origin`.

use std::net::{IpAddr, Ipv6Addr};

/// A host with an optional port, as in a `Host` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// A name in lower case, or an IP address. An IPv6 address is in brackets.
    pub host: String,
    /// The port. None: the default port of the scheme.
    pub port: Option<u16>,
}

impl Authority {
    /// Parses `HOST` or `HOST:PORT`. None if the text is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.rfind(':').filter(|colon| !text[*colon..].contains(']')) {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, ""),
        };
        let port = match port {
            "" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            _ => return None,
        };
        is_host(host).then(|| Self { host: host.to_ascii_lowercase(), port })
    }

    /// The IP address, if the host is one and not a name.
    pub fn address(&self) -> Option<IpAddr> {
        let bare = self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host);
        bare.parse().ok().map(|address: IpAddr| address.to_canonical())
    }

    /// Whether the host is this machine: `localhost`, a subdomain of it, or a loopback address.
    pub fn is_loopback(&self) -> bool {
        let name = self.host.strip_suffix('.').unwrap_or(&self.host);
        let is_name = name == "localhost" || name.ends_with(".localhost");
        is_name || self.address().is_some_and(|address| address.is_loopback())
    }
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !host.is_empty() && host.bytes().all(is_of_name)
}

/// The origin of a page, as in an `Origin` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The scheme in lower case.
    pub scheme: String,
    /// The host, and the port unless it is the scheme's default.
    pub authority: Authority,
}

impl Origin {
    /// Parses `SCHEME://HOST` or `SCHEME://HOST:PORT`. None if the text is something else, such as `null`.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let is_scheme =
            scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_of_scheme);
        let (scheme, mut authority) = (scheme.to_ascii_lowercase(), Authority::parse(authority)?);
        authority.port = authority.port.filter(|port| Some(*port) != scheme_port(&scheme));
        is_scheme.then_some(Self { scheme, authority })
    }

    /// Whether the origin has the same host and port as `server`. The scheme is ignored because a server behind a TLS
    /// proxy does not know it.
    pub fn is_of(&self, server: &Authority) -> bool {
        let own = scheme_port(&self.scheme);
        self.authority.host == server.host && self.authority.port.or(own) == server.port.or(own)
    }
}

fn scheme_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_a_host_and_a_port() {
        for (text, host, port) in [
            ("localhost:5000", "localhost", Some(5000)),
            ("Docs.Example", "docs.example", None),
            ("docs.example:", "docs.example", None),
            ("[::1]:5000", "[::1]", Some(5000)),
            ("[fd00::1]", "[fd00::1]", None),
            ("10.0.0.1:80", "10.0.0.1", Some(80)),
        ] {
            assert_eq!(Authority::parse(text), Some(Authority { host: host.to_owned(), port }), "{text}");
        }
        for text in [
            "", ":5000", "a b", "a/b", "http://a", "me@a", "a:b", "a:70000", "a:+5", "::1", "[::1", "[a]", "a:1:2",
            "a?b", "ä",
        ] {
            assert_eq!(Authority::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let is_loopback = |text: &str| Authority::parse(text).unwrap().is_loopback();
        for text in [
            "localhost",
            "LOCALHOST:5000",
            "docs.localhost",
            "localhost.",
            "127.0.0.1",
            "127.8.9.10:1",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(text), "{text}");
        }
        for text in [
            "localhost.example",
            "notlocalhost",
            "127.0.0.1.example",
            "0.0.0.0",
            "10.0.0.1",
            "[fd00::1]",
            "2130706433",
            "[::]",
        ] {
            assert!(!is_loopback(text), "{text}");
        }
    }

    #[test]
    fn an_origin_belongs_to_the_server_with_its_host_and_port() {
        for (origin, server, expected) in [
            ("http://localhost:5000", "localhost:5000", true),
            ("http://LOCALHOST:5000", "localhost:5000", true),
            ("https://docs.example", "docs.example", true),
            ("https://docs.example", "docs.example:443", true),
            ("https://docs.example:443", "docs.example", true),
            ("http://docs.example", "docs.example:80", true),
            ("http://[::1]:5000", "[::1]:5000", true),
            ("http://localhost:3000", "localhost:5000", false),
            ("http://localhost", "localhost:5000", false),
            ("http://localhost:5000", "127.0.0.1:5000", false),
            ("https://docs.example", "docs.example:80", false),
            ("http://docs.example.evil", "docs.example", false),
        ] {
            let is_of = Origin::parse(origin).unwrap().is_of(&Authority::parse(server).unwrap());
            assert_eq!(is_of, expected, "{origin} and {server}");
        }
    }

    #[test]
    fn the_default_port_of_a_scheme_may_be_omitted() {
        assert_eq!(Origin::parse("https://a:443"), Origin::parse("HTTPS://A"));
        assert_ne!(Origin::parse("https://a"), Origin::parse("http://a"));
        assert_ne!(Origin::parse("https://a:444"), Origin::parse("https://a"));
        assert!(Origin::parse("chrome-extension://abcdef").is_some());
        for text in
            ["null", "*", "", "https://", "https://a/", "https://a/b", "a.example", "://a", "1http://a", "https://a b"]
        {
            assert_eq!(Origin::parse(text), None, "{text}");
        }
    }
}
