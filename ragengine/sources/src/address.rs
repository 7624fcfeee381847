//! Where requests may go. Whoever may write a source must not reach with it what only the node or the pod itself can reach.

mod carried;
mod refusal_reason;
mod resolver;
mod source_url;

use std::net::IpAddr;

use ragengine_settings::sync::AddressRange;
pub use refusal_reason::RefusalReason;
use reqwest::Url;
pub use resolver::{Resolver, Way};
pub use source_url::parse_url;

/// Says which addresses may be used. Refused are link-local, loopback, unspecified and multicast ones, and the API server's, unless they are
/// allowed, and always those where clouds hand out credentials. Private addresses may be used, as servers in the cluster have them, but not where
/// something public leads to them. An address that carries another is judged by both.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    allowed: Vec<AddressRange>,
    api_server: Vec<IpAddr>,
}

/// How far requests may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To every address that may be used: somebody wrote it, or its name, into the source.
    Any,
    /// To public addresses, and to private ones that are allowed: something public leads there. What everybody may put online could otherwise have
    /// the servers of the cluster asked, by somebody who has no part in the source.
    Public,
}

/// An address that may not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} may not be used, it is {reason}; {}", .reason.remedy())]
pub struct RefusedAddress {
    /// The address.
    pub address: IpAddr,
    /// What it is.
    pub reason: RefusalReason,
}

impl AddressPolicy {
    /// Ranges that are allowed whatever they are, but for where credentials are handed out, and the API server's addresses.
    pub fn new(allowed: Vec<AddressRange>, api_server: Vec<IpAddr>) -> Self {
        Self { allowed, api_server }
    }

    /// The same in a pod. What the environment and the cluster's names say is the API server's, too: its Service there. The caller names its
    /// endpoints, which are other addresses and lead to the same.
    pub async fn in_cluster(allowed: Vec<AddressRange>, mut api_server: Vec<IpAddr>) -> Self {
        if let Some(host) = std::env::var("KUBERNETES_SERVICE_HOST").ok().and_then(|host| host.parse().ok()) {
            api_server.push(host);
        }
        // Outside a cluster there is no such name.
        if let Ok(addresses) = tokio::net::lookup_host(("kubernetes.default.svc", 443)).await {
            api_server.extend(addresses.map(|address| address.ip()));
        }
        Self::new(allowed, api_server)
    }

    /// Whether an address may be used that somebody wrote into a source.
    ///
    /// # Errors
    ///
    /// When it may not.
    pub fn check(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        self.check_within(address, Reach::Any)
    }

    /// Whether an address may be used.
    pub(crate) fn check_within(&self, address: IpAddr, reach: Reach) -> Result<(), RefusedAddress> {
        let refused = |reason| RefusedAddress { address, reason };
        let readings = carried::readings(address);
        if readings.iter().any(|reading| RefusalReason::against(*reading) == Some(RefusalReason::Metadata)) {
            return Err(refused(RefusalReason::Metadata));
        }
        let is_allowed = self.allows(address);
        let allows = |reading, reason: RefusalReason| {
            self.allows(reading)
                || is_allowed && reason.is_allowed_with_carrier()
                || reach == Reach::Any && reason.depends_on_reach()
        };
        let mut reasons = readings.into_iter().filter_map(|reading| Some((reading, self.reason_against(reading)?)));
        match reasons.find(|(reading, reason)| !allows(*reading, *reason)) {
            Some((_, reason)) => Err(refused(reason)),
            None => Ok(()),
        }
    }

    /// Whether a URL may be used as far as it says so itself: a name is looked at when it is resolved, which happens at each connection.
    pub(crate) fn check_url(&self, url: &Url, reach: Reach) -> Result<(), RefusedAddress> {
        address_in(url).map_or(Ok(()), |address| self.check_within(address, reach))
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|range| range.contains(address))
    }

    fn reason_against(&self, address: IpAddr) -> Option<RefusalReason> {
        if self.api_server.iter().any(|server| carried::readings(*server).contains(&address)) {
            return Some(RefusalReason::ApiServer);
        }
        RefusalReason::against(address)
    }
}

/// The address in a URL that has no name.
fn address_in(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether an address is everybody's. One that carries others is where one of them is, which is then where it may lead.
pub fn is_public(address: IpAddr) -> bool {
    let readings = carried::readings(address);
    let meant = if readings.len() > 1 { &readings[1..] } else { &readings[..] };
    meant.iter().any(|reading| RefusalReason::against(*reading).is_none())
}

#[cfg(test)]
mod tests;
