//! The nodes that are made for an engine: its NodeClaims as they are, and when each was made last.

use std::collections::HashMap;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams};
use parking_lot::Mutex;
use ragengine_operator_api::{RAG_ENGINE_FINALIZER, RagEngine, RagEngineSpec};
use tokio::time::Instant;

use crate::apply::Refused;
use crate::context::Context;
use crate::finding::{quoted, unended};
use crate::karpenter::{NodeClaim, NodeClass, is_served};
use crate::names::{Identity, NODE_OF};
use crate::requests::within_limit;

/// The time between two attempts to make the same NodeClaim. Karpenter deletes one when the cloud has no such machine.
pub const NEXT_ATTEMPT: Duration = Duration::from_secs(60);

/// Who provides the nodes of the machine type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// The operator makes NodeClaims of this node class.
    Karpenter(NodeClass),
    /// The cluster has the nodes already, because the operator makes none.
    Cluster(NoNodes),
}

/// Why the operator makes no nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoNodes {
    /// The operator has no node class.
    NoNodeClass,
    /// The cluster has no NodeClaims.
    NotServed,
}

impl Default for Provider {
    fn default() -> Self {
        Self::Cluster(NoNodes::NoNodeClass)
    }
}

/// What is known of the nodes of an engine.
#[derive(Debug, Clone, Default)]
pub struct ObservedNodes {
    /// Who provides them.
    pub provider: Provider,
    /// Whether the engine has the finalizer.
    pub is_held: bool,
    /// All its NodeClaims; after an apply only the desired ones.
    pub claims: Vec<NodeClaim>,
    /// NodeClaims that others replace, until these have their nodes and the replaced ones are gone.
    pub replaced: Vec<NodeClaim>,
    /// The names of NodeClaims that are gone again and are made a little later.
    pub missing: Vec<String>,
    /// Why the NodeClaims may not be read, if so. Then none is made or deleted.
    pub unreadable: Option<String>,
}

impl ObservedNodes {
    /// Whether something is to be done later that no event announces.
    pub fn need_another_look(&self) -> bool {
        !self.missing.is_empty() || self.unreadable.is_some()
    }
}

/// The NodeClaims of an engine in the cluster.
pub enum Listing {
    /// The cluster has no NodeClaims of any engine.
    NotServed,
    /// All of them.
    Claims(Vec<NodeClaim>),
    /// The operator may not read them.
    Unreadable(String),
}

/// Whether a specification asks for nodes of a machine type. A stopped engine needs none.
pub fn wants(spec: &RagEngineSpec) -> bool {
    spec.replicas > 0 && instance_type(spec).is_some()
}

/// The machine type, if the specification names one.
pub fn instance_type(spec: &RagEngineSpec) -> Option<&str> {
    spec.compute.as_ref()?.instance_type.as_deref()
}

/// Whether an engine has the finalizer.
pub fn is_held(engine: &RagEngine) -> bool {
    engine.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == RAG_ENGINE_FINALIZER)
}

/// Reads what a reconcile needs to know. Sends nothing for an engine without a machine type.
///
/// # Errors
///
/// When the API server does not answer.
pub async fn observe(context: &Context, engine: &RagEngine) -> Result<ObservedNodes, kube::Error> {
    let node_class = &context.defaults.node_class;
    let is_held = is_held(engine);
    let asks = is_held || (node_class.is_some() && instance_type(&engine.spec).is_some());
    if !asks {
        return Ok(ObservedNodes::default());
    }
    let listing = list(&context.client, &Identity::of(engine)).await?;
    let why_none = if node_class.is_some() { NoNodes::NotServed } else { NoNodes::NoNodeClass };
    let provider = match (&listing, node_class) {
        (Listing::NotServed, _) | (_, None) => Provider::Cluster(why_none),
        (_, Some(node_class)) => Provider::Karpenter(node_class.clone()),
    };
    let (claims, unreadable) = match listing {
        Listing::NotServed => (Vec::new(), None),
        Listing::Claims(claims) => (claims, None),
        Listing::Unreadable(why) => (Vec::new(), Some(why)),
    };
    Ok(ObservedNodes { provider, is_held, claims, unreadable, ..ObservedNodes::default() })
}

/// Lists all NodeClaims of an engine, in one consistent reply.
///
/// # Errors
///
/// When the API server does not answer.
pub async fn list(client: &Client, identity: &Identity) -> Result<Listing, kube::Error> {
    if !is_served(client).await? {
        return Ok(Listing::NotServed);
    }
    let claims: Api<NodeClaim> = Api::all(client.clone());
    let its = ListParams::default().labels(&format!("{NODE_OF}={}", identity.uid));
    match within_limit(claims.list(&its)).await {
        Ok(found) => {
            let its = found.items.into_iter().filter(|claim| identity.made_node_claim(&claim.metadata));
            Ok(Listing::Claims(its.collect()))
        }
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Listing::Unreadable(status.message)),
        Err(error) => Err(error),
    }
}

/// What a user is told of NodeClaims that the operator may not read.
pub fn unreadable(why: &str) -> Refused {
    let message = format!(
        "the NodeClaims of the engine cannot be read: {}. Set karpenter.nodeClass of the operator's chart, which grants \
         the right",
        unended(&quoted(why, 300))
    );
    Refused { message }
}

/// When each NodeClaim was made last, by the uid of its engine.
#[derive(Default)]
pub struct Attempts(Mutex<HashMap<String, HashMap<String, Instant>>>);

impl Attempts {
    /// Whether a NodeClaim may be made now.
    pub fn is_due(&self, uid: &str, name: &str) -> bool {
        let all = self.0.lock();
        let last = all.get(uid).and_then(|of_engine| of_engine.get(name));
        last.is_none_or(|at| at.elapsed() >= NEXT_ATTEMPT)
    }

    /// Notes that a NodeClaim was made.
    pub fn made(&self, uid: &str, name: &str) {
        let mut all = self.0.lock();
        let of_engine = all.entry(uid.to_owned()).or_default();
        of_engine.retain(|_, at| at.elapsed() < NEXT_ATTEMPT);
        of_engine.insert(name.to_owned(), Instant::now());
    }

    /// Forgets an engine.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_node_claim_is_made_again_after_a_while() {
        let attempts = Attempts::default();
        attempts.made("u", "a");
        assert!(!attempts.is_due("u", "a") && attempts.is_due("u", "b") && attempts.is_due("v", "a"));
        tokio::time::advance(NEXT_ATTEMPT).await;
        assert!(attempts.is_due("u", "a"));
        attempts.made("u", "a");
        attempts.forget("u");
        assert!(attempts.is_due("u", "a"));
    }
}
