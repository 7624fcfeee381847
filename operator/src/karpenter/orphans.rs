//! NodeClaims whose RAGEngine is gone. Its finalizer keeps a RAGEngine until they are deleted, but whoever may write a
//! RAGEngine can remove the finalizer, and its machines would run on.

use std::collections::HashMap;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Preconditions};
use ragengine_operator_api::RagEngine;
use tokio::time::Instant;
use tracing::{info, warn};

use super::NodeClaim;
use crate::names::Identity;
use crate::requests::within_limit;

/// How long a RAGEngine must be unknown before the API server is asked whether it exists.
const GRACE: Duration = Duration::from_secs(60);

/// A NodeClaim, and the RAGEngine that it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The name of the NodeClaim.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The RAGEngine.
    pub engine: Identity,
}

/// Since when the RAGEngines of NodeClaims are unknown, by the uids of the NodeClaims.
#[derive(Default)]
pub struct Orphans(HashMap<String, Instant>);

impl Orphans {
    /// Those of the NodeClaims without a known RAGEngine whose turn it is. `unknown` are all of them.
    fn due(&mut self, unknown: Vec<Made>, now: Instant) -> Vec<Made> {
        self.0.retain(|uid, _| unknown.iter().any(|made| made.uid == *uid));
        unknown.into_iter().filter(|made| now - *self.0.entry(made.uid.clone()).or_insert(now) >= GRACE).collect()
    }

    /// Deletes the NodeClaims whose RAGEngine is gone, according to the API server.
    pub async fn delete(&mut self, client: &Client, unknown: Vec<Made>) {
        for made in self.due(unknown, Instant::now()) {
            let Identity { namespace, name, .. } = &made.engine;
            let engine = format!("{namespace}/{name}");
            match delete_if_gone(client, &made).await {
                Ok(true) => info!(node_claim = made.name, engine, "NodeClaim deleted: its RAGEngine is gone"),
                Ok(false) => {}
                Err(error) => {
                    warn!(node_claim = made.name, engine, %error, "NodeClaim of a missing RAGEngine not deleted")
                }
            }
        }
    }
}

/// Returns whether it was deleted.
async fn delete_if_gone(client: &Client, made: &Made) -> Result<bool, kube::Error> {
    let engines: Api<RagEngine> = Api::namespaced(client.clone(), &made.engine.namespace);
    let found = within_limit(engines.list_metadata(&ListParams::default())).await?;
    if found.items.iter().any(|engine| engine.metadata.uid.as_deref() == Some(&made.engine.uid)) {
        return Ok(false);
    }
    let claims: Api<NodeClaim> = Api::all(client.clone());
    let this_one = Preconditions { uid: Some(made.uid.clone()), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
    match within_limit(claims.delete(&made.name, &parameters)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_of_a_node_claim_must_be_unknown_for_a_while() {
        let made = |name: &str| Made {
            name: name.to_owned(),
            uid: format!("uid-{name}"),
            engine: Identity { namespace: "n".into(), name: "docs".into(), uid: "gone".into() },
        };
        let (mut orphans, start) = (Orphans::default(), Instant::now());
        let mut due = |names: &[&str], seconds: u64| {
            let unknown = names.iter().copied().map(made).collect();
            let due = orphans.due(unknown, start + Duration::from_secs(seconds));
            due.into_iter().map(|made| made.name).collect::<Vec<_>>()
        };
        assert_eq!(due(&["a"], 0), [""; 0]);
        assert_eq!(due(&["a", "b"], 59), [""; 0]);
        assert_eq!(due(&["a", "b"], 60), ["a"]);
        // The engine of the first was seen.
        assert_eq!(due(&["b"], 90), [""; 0]);
        assert_eq!(due(&["a", "b"], 120), ["b"]);
    }
}
