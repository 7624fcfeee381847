//! Where requests may go. Whoever may write a source must not reach with it what only the node or the pod itself can reach.

mod resolver;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ragengine_settings::sync::AddressRange;
use reqwest::Url;
pub use resolver::Resolver;

use crate::SourceError;

/// Says which addresses may be used. Refused are link-local, loopback, unspecified and multicast ones, those where clouds hand out credentials,
/// and the API server's. Private addresses may be used: servers in the cluster have them.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    allowed: Vec<AddressRange>,
    api_server: Vec<IpAddr>,
}

/// An address that may not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} may not be used, it is {reason}; allowedRanges can allow it")]
pub struct RefusedAddress {
    /// The address.
    pub address: IpAddr,
    /// What it is.
    pub reason: &'static str,
}

/// Where clouds hand out credentials, as far as these are not link-local.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

impl AddressPolicy {
    /// Ranges that are allowed whatever they are, and the API server's addresses.
    pub fn new(allowed: Vec<AddressRange>, api_server: Vec<IpAddr>) -> Self {
        Self { allowed, api_server }
    }

    /// The same in a pod, where the environment and the cluster's names say which addresses are the API server's.
    pub async fn in_cluster(allowed: Vec<AddressRange>) -> Self {
        let mut api_server = Vec::new();
        if let Some(host) = std::env::var("KUBERNETES_SERVICE_HOST").ok().and_then(|host| host.parse().ok()) {
            api_server.push(host);
        }
        // Outside a cluster there is no such name.
        if let Ok(addresses) = tokio::net::lookup_host(("kubernetes.default.svc", 443)).await {
            api_server.extend(addresses.map(|address| address.ip()));
        }
        Self::new(allowed, api_server)
    }

    /// Whether an address may be used.
    ///
    /// # Errors
    ///
    /// When it may not.
    pub fn check(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        let meant = meant_by(address);
        if self.allowed.iter().any(|range| range.contains(address) || range.contains(meant)) {
            return Ok(());
        }
        match self.reason_against(meant).or_else(|| self.reason_against(address)) {
            Some(reason) => Err(RefusedAddress { address, reason }),
            None => Ok(()),
        }
    }

    /// Whether a URL may be used as far as it says so itself: a name is looked at when it is resolved, which happens at each connection.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), RefusedAddress> {
        let host = url.host_str().unwrap_or_default();
        match host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(address) => self.check(address),
            Err(_) => Ok(()),
        }
    }

    fn reason_against(&self, address: IpAddr) -> Option<&'static str> {
        if self.api_server.iter().any(|server| meant_by(*server) == address) {
            return Some("the API server's");
        }
        if METADATA.contains(&address) {
            return Some("where a cloud hands out credentials");
        }
        match address {
            IpAddr::V4(address) => reason_against_v4(address),
            IpAddr::V6(address) => reason_against_v6(address),
        }
    }
}

fn reason_against_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [0, ..] => Some("unspecified"),
        [127, ..] => Some("loopback"),
        [169, 254, ..] => Some("link-local"),
        [224..=239, ..] => Some("multicast"),
        [240..=255, ..] => Some("reserved"),
        _ => None,
    }
}

fn reason_against_v6(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        _ => None,
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, NAT64, 6to4. Any other is itself.
fn meant_by(address: IpAddr) -> IpAddr {
    let IpAddr::V6(address) = address else {
        return address;
    };
    let embedded = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some((u32::from(high) << 16) | u32::from(low))
        }
        _ => None,
    };
    embedded.map_or(IpAddr::V6(address), |bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
}

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

#[cfg(test)]
mod tests;
