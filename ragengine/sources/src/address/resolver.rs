use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Reach, is_public};
use crate::{AddressPolicy, RefusedAddress};

/// Resolves names to those addresses that may be used. The connection is made to just these, so that a name which resolves to something else the
/// next time gains nothing.
#[derive(Debug, Clone)]
pub struct Resolver {
    policy: Arc<AddressPolicy>,
    reach: Reach,
    /// The names that have had a public address. Whoever owns such a name would otherwise choose, with each answer, which server of the cluster
    /// is asked.
    public_names: Arc<Mutex<HashSet<String>>>,
}

impl Resolver {
    /// With the policy that is asked.
    pub fn new(policy: &AddressPolicy) -> Self {
        Self { policy: Arc::new(policy.clone()), reach: Reach::Any, public_names: Arc::default() }
    }

    /// The same for requests that reach so far. What is known of names is shared.
    pub fn within(&self, reach: Reach) -> Self {
        Self { reach, ..self.clone() }
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
            Ok(Box::new(resolver.choose(name.as_str(), found)?.into_iter()) as Addrs)
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
