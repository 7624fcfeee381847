use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Reach, address_in, is_public};
use crate::{AddressPolicy, Proxies, RefusedAddress};

/// Resolves names to those addresses that may be used. The connection is made to just these, so that a name which resolves to something else the
/// next time gains nothing.
#[derive(Debug, Clone)]
pub struct Resolver {
    policy: Arc<AddressPolicy>,
    proxies: Proxies,
    reach: Reach,
    /// The names that have had a public address. Whoever owns such a name would otherwise choose, with each answer, which server of the cluster
    /// is asked.
    public_names: Arc<Mutex<HashSet<String>>>,
}

/// How a request reaches its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By a connection of its own, whose address can be seen.
    Direct,
    /// Through a proxy: the server's address, where its name is known here too.
    Proxied(Option<IpAddr>),
}

impl Resolver {
    /// With the policy that is asked, and the proxies that connections are made to.
    pub fn new(policy: &AddressPolicy, proxies: &Proxies) -> Self {
        Self {
            policy: Arc::new(policy.clone()),
            proxies: proxies.clone(),
            reach: Reach::Any,
            public_names: Arc::default(),
        }
    }

    /// The same for requests that reach so far. What is known of names is shared.
    pub fn within(&self, reach: Reach) -> Self {
        Self { reach, ..self.clone() }
    }

    /// Judges a request before it is made. A name that is asked directly is judged when it is resolved, which happens at each connection. What a
    /// proxy is asked for is judged here, as far as it can be told: the connection is made to the proxy.
    ///
    /// # Errors
    ///
    /// When the server, or the proxy, may not be used.
    pub async fn judge(&self, url: &Url) -> Result<Way, RefusedAddress> {
        self.policy.check_url(url, self.reach)?;
        let proxy = self.proxies.of(url);
        if let Some(proxy) = proxy {
            self.policy.check_url(proxy, Reach::Any)?;
        }
        let name = url.domain().unwrap_or_default();
        if proxy.is_none() && !self.proxies.are_at(name) {
            return Ok(Way::Direct);
        }
        let address = address_in(url);
        if address.is_some() {
            return Ok(Way::Proxied(address));
        }
        match tokio::net::lookup_host((name, 0)).await {
            Ok(found) => self.judge_all(name, found.collect()),
            // Often only the proxy knows the names of others.
            Err(_) => Ok(Way::Proxied(None)),
        }
    }

    /// A proxy resolves the name itself, and may take any of its addresses: none of them may be refused.
    pub(super) fn judge_all(&self, name: &str, found: Vec<SocketAddr>) -> Result<Way, RefusedAddress> {
        for address in &found {
            self.choose(name, vec![*address])?;
        }
        let public = found.iter().find(|address| is_public(address.ip()));
        Ok(Way::Proxied(public.or(found.first()).map(SocketAddr::ip)))
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
            // What a proxy is asked for was judged before. It is itself where somebody wrote that it is.
            let chosen = match resolver.proxies.are_at(name.as_str()) {
                true => choose(found, &resolver.policy, Reach::Any, false)?,
                false => resolver.choose(name.as_str(), found)?,
            };
            Ok(Box::new(chosen.into_iter()) as Addrs)
        })
    }
}

/// Those addresses of a name that may be used. A name with public addresses and others is a public server's, and what it says of others is not
/// believed.
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
