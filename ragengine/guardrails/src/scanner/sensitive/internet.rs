use std::net::Ipv6Addr;

use crate::patterns::Candidate;

/// An email address. The length of the first part is that of RFC 5321.
pub(super) const EMAIL: &str = r"[A-Za-z0-9._%+\-]{1,64}@(?:[A-Za-z0-9\-]+\.)+[A-Za-z]{2,}";

/// Four numbers up to 255.
pub(super) const IPV4: &str =
    concat!(r"\b(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])\.){3}", r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])\b",);

/// What may be an IP address of version 6, also with one of version 4 at its end.
pub(super) const IPV6: &str = r"\b{start-half}[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]+\b{end-half}";

/// Whether it is one. It must have a digit: paths in some programming languages look alike.
pub(super) fn accept_ipv6(candidate: &str) -> Candidate {
    let address = candidate.trim_end_matches('.');
    // A colon may follow as punctuation.
    let shorter = address.strip_suffix(':').filter(|rest| !rest.ends_with(':'));
    [Some(address), shorter]
        .into_iter()
        .flatten()
        .find(|text| text.bytes().any(|byte| byte.is_ascii_digit()) && text.parse::<Ipv6Addr>().is_ok())
        .map_or(Candidate::No, |text| Candidate::Match(text.len()))
}
