//! Decides which addresses requests may be sent to. The author of a source must not be able to reach services that only
//! the node or the pod can reach.

mod embedded;
mod refusal_reason;
mod resolver;
mod source_url;

use std::net::IpAddr;

use ragengine_settings::sync::AddressRange;
pub use refusal_reason::RefusalReason;
use reqwest::Url;
pub use resolver::{Resolver, Route};
pub use source_url::parse_url;

/// Decides which addresses requests may be sent to.
///
/// - Link-local, loopback, unspecified and multicast addresses, and those of the API server, are refused unless they
///   are allowed.
/// - Cloud metadata addresses, which hand out credentials, are always refused.
/// - Private addresses are permitted, because servers in the cluster have them, but not if a public server redirects to
///   them.
/// - An IPv6 address that embeds an IPv4 address must be permitted as both.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    allowed: Vec<AddressRange>,
    api_server: Vec<IpAddr>,
}

/// The range of addresses that a request may be sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All permitted addresses. The source itself contains the address or its name.
    Any,
    /// Public addresses, and private ones that are explicitly allowed. A public server redirects to the address.
    /// Without this restriction, an outsider could send requests to servers in the cluster.
    Public,
}

/// An address that requests may not be sent to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("requests to {address} are not allowed because it is {reason}: {}", .reason.remedy())]
pub struct RefusedAddress {
    /// The refused address.
    pub address: IpAddr,
    /// Why it is refused.
    pub reason: RefusalReason,
}

impl AddressPolicy {
    /// `allowed` are ranges that are permitted, except for cloud metadata addresses. `api_server` are the addresses of
    /// the API server.
    pub fn new(allowed: Vec<AddressRange>, api_server: Vec<IpAddr>) -> Self {
        Self { allowed, api_server }
    }

    /// Like [`Self::new`], for use in a pod: adds the addresses of the API server's Service, from the environment and
    /// DNS. The caller passes the addresses of its endpoints, which also lead to it.
    pub async fn in_cluster(allowed: Vec<AddressRange>, mut api_server: Vec<IpAddr>) -> Self {
        if let Some(host) = std::env::var("KUBERNETES_SERVICE_HOST").ok().and_then(|host| host.parse().ok()) {
            api_server.push(host);
        }
        // The name does not exist outside of a cluster.
        if let Ok(addresses) = tokio::net::lookup_host(("kubernetes.default.svc", 443)).await {
            api_server.extend(addresses.map(|address| address.ip()));
        }
        Self::new(allowed, api_server)
    }

    /// Checks an address that a source contains.
    ///
    /// # Errors
    ///
    /// When requests to it are not allowed.
    pub fn check(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        self.check_within(address, Reach::Any)
    }

    /// Checks an address for a request with this reach.
    pub(crate) fn check_within(&self, address: IpAddr, reach: Reach) -> Result<(), RefusedAddress> {
        let refused = |reason| RefusedAddress { address, reason };
        let reachable = embedded::reachable(address);
        if reachable.iter().any(|reached| RefusalReason::against(*reached) == Some(RefusalReason::Metadata)) {
            return Err(refused(RefusalReason::Metadata));
        }
        let is_allowed = self.allows(address);
        let allows = |reached, reason: RefusalReason| {
            self.allows(reached)
                || is_allowed && reason.is_allowed_with_outer_address()
                || reach == Reach::Any && reason.depends_on_reach()
        };
        let mut reasons = reachable.into_iter().filter_map(|reached| Some((reached, self.reason_against(reached)?)));
        match reasons.find(|(reached, reason)| !allows(*reached, *reason)) {
            Some((_, reason)) => Err(refused(reason)),
            None => Ok(()),
        }
    }

    /// Checks the address in a URL. A host name is checked later, each time it is resolved for a connection.
    pub(crate) fn check_url(&self, url: &Url, reach: Reach) -> Result<(), RefusedAddress> {
        address_in(url).map_or(Ok(()), |address| self.check_within(address, reach))
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|range| range.contains(address))
    }

    fn reason_against(&self, address: IpAddr) -> Option<RefusalReason> {
        if self.api_server.iter().any(|server| embedded::reachable(*server).contains(&address)) {
            return Some(RefusalReason::ApiServer);
        }
        RefusalReason::against(address)
    }
}

/// The IP address in a URL. `None` if its host is a name.
fn address_in(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether an address is public. An address that embeds others is public if one of the embedded addresses is.
pub fn is_public(address: IpAddr) -> bool {
    let reachable = embedded::reachable(address);
    let leads_to = if reachable.len() > 1 { &reachable[1..] } else { &reachable[..] };
    leads_to.iter().any(|reached| RefusalReason::against(*reached).is_none())
}

#[cfg(test)]
mod tests;
