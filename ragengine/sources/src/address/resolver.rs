use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::AddressPolicy;

/// Resolves names to those addresses that may be used. The connection is made to just these, so that a name which resolves to something else the
/// next time gains nothing.
#[derive(Debug, Clone)]
pub struct Resolver(Arc<AddressPolicy>);

impl Resolver {
    /// With the policy that is asked.
    pub fn new(policy: &AddressPolicy) -> Self {
        Self(Arc::new(policy.clone()))
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let mut refused = None;
            let mut usable = Vec::with_capacity(found.len());
            for address in found {
                match policy.check(address.ip()) {
                    Ok(()) => usable.push(address),
                    Err(reason) => refused = Some(reason),
                }
            }
            match refused {
                Some(reason) if usable.is_empty() => Err(reason.into()),
                _ => Ok(Box::new(usable.into_iter()) as Addrs),
            }
        })
    }
}
