use std::net::Ipv6Addr;

use reqwest::Url;

use crate::{Proxies, SourceError};

/// Checks that the credentials of a source may be sent to a URL. A user who may write a source may not be allowed to
/// read the Secret. Without this check, such a user could have the Secret sent to an address of their choice, or
/// through a proxy that reads unencrypted requests.
///
/// # Errors
///
/// When the host of the URL is not among the allowed hosts, or when a proxy could read the credentials.
pub fn check_receiver(allowed: &[String], url: &Url, proxies: &Proxies) -> Result<(), SourceError> {
    check_host(allowed, url)?;
    if url.scheme() == "http" && proxies.of(url).is_some() {
        return Err(SourceError::CredentialProxy { host: url.host_str().unwrap_or_default().to_owned() });
    }
    Ok(())
}

fn check_host(allowed: &[String], url: &Url) -> Result<(), SourceError> {
    if allowed.is_empty() || allowed.iter().any(|pattern| matches(pattern.trim(), url)) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Err(SourceError::CredentialHost { allowed: allowed.join(", "), host })
}

/// Whether a pattern matches the host of a URL. `*.` at the beginning matches all subdomains. A pattern without a port
/// matches all ports. An invalid pattern matches nothing.
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
        // IP addresses have no subdomains.
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

/// Normalises a host as in a URL: lower case, in ASCII (Punycode).
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
    fn credentials_are_sent_to_allowed_hosts_only() {
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
    fn the_error_names_the_refused_host() {
        let cases = [
            (
                &["a.example"][..],
                "https://b.example/",
                "the Secret in accessSecret may only be sent to a.example, not to b.example: \
                 correct the address, or allow the host",
            ),
            (
                &["a.example", "*.c.example"],
                "https://a.example.b:8443/",
                "the Secret in accessSecret may only be sent to a.example, *.c.example, not to a.example.b:8443: \
                 correct the address, or allow the host",
            ),
        ];
        for (allowed, url, expected) in cases {
            assert_eq!(check(allowed, url).unwrap_err(), expected);
        }
    }
}
