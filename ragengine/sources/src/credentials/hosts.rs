use std::net::Ipv6Addr;

use reqwest::Url;

use crate::{Proxies, SourceError};

/// Whether the credentials of a source may be sent to a URL. Whoever may use a Secret in a source need not be who may read it: with an address of
/// their own, or a proxy of their own where nothing is encrypted, they would be sent what is in it.
///
/// # Errors
///
/// When the hosts are limited, and that of the URL is not among them; when a proxy could read them.
pub fn check_receiver(allowed: &[String], url: &Url, proxies: &Proxies) -> Result<(), SourceError> {
    check_host(allowed, url)?;
    match url.scheme() == "http" && proxies.of(url).is_some() {
        true => Err(SourceError::CredentialProxy { host: url.host_str().unwrap_or_default().to_owned() }),
        false => Ok(()),
    }
}

fn check_host(allowed: &[String], url: &Url) -> Result<(), SourceError> {
    if allowed.is_empty() || allowed.iter().any(|pattern| matches(pattern.trim(), url)) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Err(SourceError::CredentialHost { allowed: allowed.join(", "), host })
}

/// Whether a host, or with `*.` before it all below it, is that of a URL. One without a port stands for all ports of it. What is no host is that
/// of none.
fn matches(pattern: &str, url: &Url) -> bool {
    let (pattern, is_below) = pattern.strip_prefix("*.").map_or((pattern, false), |rest| (rest, true));
    let Some((host, port)) = split(pattern) else {
        return false;
    };
    if port.is_some() && port != url.port_or_known_default() {
        return false;
    }
    let Some(host) = normalised(&host) else {
        return false;
    };
    match (is_below, host.domain(), url.domain()) {
        (false, ..) => host.host_str() == url.host_str(),
        (true, Some(above), Some(below)) => below
            .strip_suffix(above)
            .and_then(|labels| labels.strip_suffix('.'))
            .is_some_and(|labels| !labels.is_empty()),
        // No address is below another.
        (true, ..) => false,
    }
}

fn split(pattern: &str) -> Option<(String, Option<u16>)> {
    if pattern.parse::<Ipv6Addr>().is_ok() {
        return Some((format!("[{pattern}]"), None));
    }
    match pattern.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => Some((host.to_owned(), Some(port.parse().ok()?))),
        None => Some((pattern.to_owned(), None)),
    }
}

/// A host as URLs have it: in small letters, and without others than those of ASCII.
fn normalised(host: &str) -> Option<Url> {
    let url = Url::parse(&format!("https://{host}/")).ok()?;
    let is_host_alone = url.as_str() == format!("https://{}/", url.host_str()?);
    is_host_alone.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allowed: &[&str], url: &str) -> Result<(), String> {
        let allowed: Vec<_> = allowed.iter().map(|&host| host.to_owned()).collect();
        check_host(&allowed, &Url::parse(url).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn credentials_go_to_the_hosts_that_are_named() {
        let cases = [
            (&[][..], "https://b.example/", true),
            (&["a.example"], "https://a.example/x", true),
            (&["A.Example "], "https://a.example/x", true),
            (&["a.example"], "https://A.EXAMPLE/", true),
            (&["a.example"], "http://a.example:8080/", true),
            (&["a.example"], "https://b.a.example/", false),
            (&["a.example"], "https://a.example.b/", false),
            (&["a.example"], "https://xa.example/", false),
            (&["b.example", "a.example"], "https://a.example/", true),
            (&["a.example:8443"], "https://a.example:8443/", true),
            (&["a.example:8443"], "https://a.example/", false),
            (&["a.example:443"], "https://a.example/", true),
            (&["a.example:443"], "http://a.example/", false),
            (&["*.a.example"], "https://b.a.example/", true),
            (&["*.a.example"], "https://c.b.A.example/", true),
            (&["*.a.example"], "https://a.example/", false),
            (&["*.a.example"], "https://ba.example/", false),
            (&["*.a.example"], "https://a.example.attacker.example/", false),
            (&["*.a.example:8443"], "https://b.a.example:8443/", true),
            (&["*.a.example:8443"], "https://b.a.example/", false),
            (&["b\u{fc}cher.example"], "https://xn--bcher-kva.example/", true),
            (&["10.0.0.7"], "http://10.0.0.7/", true),
            (&["*.0.0.7"], "http://10.0.0.7/", false),
            (&["::1"], "http://[::1]:9000/", true),
            (&["[::1]"], "http://[::1]/", true),
            (&["[::1]:9000"], "http://[::1]:9000/", true),
            (&["[::1]:9000"], "http://[::1]/", false),
            (&["*"], "https://a.example/", false),
            (&["*."], "https://a.example/", false),
            (&[""], "https://a.example/", false),
            (&["https://a.example"], "https://a.example/", false),
            (&["a.example/x"], "https://a.example/", false),
            (&["x@a.example"], "https://a.example/", false),
            (&["a.example:x"], "https://a.example/", false),
        ];
        for (allowed, url, expected) in cases {
            assert_eq!(check(allowed, url).is_ok(), expected, "{url} with {allowed:?}");
        }
    }

    #[test]
    fn a_host_that_is_not_named_is_said() {
        let cases = [
            (
                &["a.example"][..],
                "https://b.example/",
                "the Secret of accessSecret may be sent to a.example only, and not to b.example",
            ),
            (
                &["a.example", "*.c.example"],
                "https://a.example.b:8443/",
                "the Secret of accessSecret may be sent to a.example, *.c.example only, and not to a.example.b:8443",
            ),
        ];
        for (allowed, url, expected) in cases {
            assert_eq!(check(allowed, url).unwrap_err(), expected);
        }
    }
}
