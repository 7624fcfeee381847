use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Reach, address_in, is_public};
use crate::{AddressPolicy, Proxies, RefusedAddress};

/// Resolves names to permitted addresses. The connection uses exactly these addresses, so a name that resolves
/// differently the next time (DNS rebinding) cannot bypass the check.
#[derive(Debug, Clone)]
pub struct Resolver {
    policy: Arc<AddressPolicy>,
    proxies: Proxies,
    reach: Reach,
    /// The names that had a public address before. Their private addresses are refused, because otherwise the owner of
    /// such a name could direct requests to any server in the cluster.
    public_names: Arc<Mutex<HashSet<String>>>,
}

/// The route of a request to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// A direct connection. Its remote address is known.
    Direct,
    /// Through a proxy. Contains the address of the server if its name can be resolved here.
    Proxied(Option<IpAddr>),
}

impl Resolver {
    /// Checks addresses by the policy, and handles connections to the proxies.
    pub fn new(policy: &AddressPolicy, proxies: &Proxies) -> Self {
        Self {
            policy: Arc::new(policy.clone()),
            proxies: proxies.clone(),
            reach: Reach::Any,
            public_names: Arc::default(),
        }
    }

    /// A copy for requests with this reach. It shares the list of public names.
    pub fn within(&self, reach: Reach) -> Self {
        Self { reach, ..self.clone() }
    }

    /// Checks a request before it is sent. For a direct request, only an IP address in the URL is checked here; a name
    /// is checked when it is resolved for the connection. For a request through a proxy, the name is resolved and
    /// checked here if possible, because the connection is made to the proxy.
    ///
    /// # Errors
    ///
    /// When requests to the server or to the proxy are not allowed.
    pub async fn check_request(&self, url: &Url) -> Result<Route, RefusedAddress> {
        self.policy.check_url(url, self.reach)?;
        let proxy = self.proxies.of(url);
        if let Some(proxy) = proxy {
            self.policy.check_url(proxy, Reach::Any)?;
        }
        let name = url.domain().unwrap_or_default();
        if proxy.is_none() && !self.proxies.are_at(name) {
            return Ok(Route::Direct);
        }
        let address = address_in(url);
        if address.is_some() {
            return Ok(Route::Proxied(address));
        }
        match tokio::net::lookup_host((name, 0)).await {
            Ok(found) => self.check_all(name, found.collect()),
            // Often only the proxy can resolve names outside of the cluster.
            Err(_) => Ok(Route::Proxied(None)),
        }
    }

    /// Checks all addresses of a name for a request through a proxy. Each must be permitted, because the proxy resolves
    /// the name itself and may use any of them.
    pub(super) fn check_all(&self, name: &str, found: Vec<SocketAddr>) -> Result<Route, RefusedAddress> {
        for address in &found {
            self.choose(name, vec![*address])?;
        }
        let public = found.iter().find(|address| is_public(address.ip()));
        Ok(Route::Proxied(public.or(found.first()).map(SocketAddr::ip)))
    }

    fn choose(&self, name: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, RefusedAddress> {
        let mut public_names = self.public_names.lock().unwrap_or_else(PoisonError::into_inner);
        if found.iter().any(|address| is_public(address.ip())) {
            public_names.insert(name.to_owned());
        }
        choose(found, &self.policy, self.reach, public_names.contains(name))
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // The request through a proxy was checked before. The proxy itself was configured, so its address may be
            // private.
            let chosen = if resolver.proxies.are_at(name.as_str()) {
                choose(found, &resolver.policy, Reach::Any, false)?
            } else {
                resolver.choose(name.as_str(), found)?
            };
            Ok(Box::new(chosen.into_iter()) as Addrs)
        })
    }
}

/// The permitted addresses of a name. If a name has public and private addresses, the private ones are left out,
/// because the owner of the name may not be trusted.
pub fn choose(
    found: Vec<SocketAddr>,
    policy: &AddressPolicy,
    reach: Reach,
    was_public: bool,
) -> Result<Vec<SocketAddr>, RefusedAddress> {
    let is_public_name = was_public || found.iter().any(|address| is_public(address.ip()));
    let mut refused = None;
    let mut usable = Vec::with_capacity(found.len());
    for address in found {
        let ip = address.ip();
        let mut checked = policy.check_within(ip, reach);
        if is_public_name && !is_public(ip) {
            checked = checked.and_then(|()| policy.check_within(ip, Reach::Public));
        }
        match checked {
            Ok(()) => usable.push(address),
            Err(reason) => refused = Some(reason),
        }
    }
    match refused {
        Some(reason) if usable.is_empty() => Err(reason),
        _ => Ok(usable),
    }
}
