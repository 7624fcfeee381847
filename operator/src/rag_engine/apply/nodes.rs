//! The NodeClaims of an engine, and the finalizer that holds the engine until they are deleted.

use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use ragengine_operator_api::{RAG_ENGINE_FINALIZER, RagEngine};
use serde_json::json;
use tracing::info;

use crate::apply::{ApplyError, Refused, classify, described};
use crate::karpenter::NodeClaim;
use crate::names::{FIELD_MANAGER, Identity};
use crate::rag_engine::nodes::{Attempts, ObservedNodes, Users, may_go};
use crate::requests::within_limit;

/// Makes and deletes the NodeClaims of one engine.
pub struct NodeWriter<'a> {
    /// The client of the API server.
    pub client: &'a Client,
    /// When each NodeClaim was made last.
    pub attempts: &'a Attempts,
    /// The engine.
    pub engine: &'a RagEngine,
}

impl NodeWriter<'_> {
    /// Makes the NodeClaims that do not exist. The finalizer comes first, so that none can be left over.
    pub(super) async fn provide(&self, desired: &[NodeClaim], nodes: &mut ObservedNodes) -> Result<(), ApplyError> {
        if desired.is_empty() || nodes.unreadable.is_some() {
            return Ok(());
        }
        if !nodes.is_held {
            self.hold(true).await?;
            nodes.is_held = true;
        }
        for claim in desired {
            if nodes.claims.iter().any(|found| found.name() == claim.name()) {
                continue;
            }
            let uid = &self.identity().uid;
            if self.attempts.is_due(uid, claim.name()) {
                nodes.claims.push(self.make(claim).await?);
                self.attempts.made(uid, claim.name());
            } else {
                nodes.missing.push(claim.name().to_owned());
            }
        }
        Ok(())
    }

    /// Deletes the NodeClaims that are not desired, once no pod needs them. The finalizer goes when none is left that
    /// is not being deleted: Karpenter has its own finalizer, which holds a NodeClaim until its node is gone.
    pub(super) async fn remove_others(
        &self,
        desired: &[NodeClaim],
        nodes: &mut ObservedNodes,
        users: Users<'_>,
    ) -> Result<(), ApplyError> {
        if nodes.unreadable.is_some() {
            return Ok(());
        }
        let (kept, others): (Vec<_>, Vec<_>) = std::mem::take(&mut nodes.claims)
            .into_iter()
            .partition(|claim| desired.iter().any(|wanted| wanted.name() == claim.name()));
        nodes.claims = kept;
        let (unused, used): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|old| may_go(old, desired, &nodes.claims, users));
        self.remove(&unused).await?;
        let is_left = !desired.is_empty() || used.iter().any(|claim| !claim.is_going());
        nodes.replaced = if desired.is_empty() { used } else { used.into_iter().chain(unused).collect() };
        if !is_left && nodes.is_held {
            self.hold(false).await?;
            nodes.is_held = false;
        }
        Ok(())
    }

    /// Deletes the NodeClaims of an engine that is being deleted, and then lets it go.
    ///
    /// # Errors
    ///
    /// The first request that failed. Then the engine stays.
    pub async fn release(&self, claims: &[NodeClaim]) -> Result<(), ApplyError> {
        self.remove(claims).await?;
        self.hold(false).await
    }

    async fn make(&self, claim: &NodeClaim) -> Result<NodeClaim, ApplyError> {
        let claims: Api<NodeClaim> = Api::all(self.client.clone());
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let object = described::<NodeClaim>(claim.name());
        match within_limit(claims.create(&parameters, claim)).await {
            Ok(made) => {
                info!(engine = self.name(), object, "object created");
                Ok(made)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Err(ApplyError::Refused(Refused {
                message: format!("{object} already exists and was not created for this RAGEngine: delete it"),
            })),
            Err(error) => Err(classify(object, error)),
        }
    }

    async fn remove(&self, claims: &[NodeClaim]) -> Result<(), ApplyError> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let its = claims.iter().filter(|claim| !claim.is_going() && self.identity().made_node_claim(&claim.metadata));
        for claim in its {
            let object = described::<NodeClaim>(claim.name());
            let this_one = Preconditions { uid: claim.metadata.uid.clone(), resource_version: None };
            let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
            match within_limit(api.delete(claim.name(), &parameters)).await {
                Ok(_) => info!(engine = self.name(), object, "object removed: it is no longer desired"),
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => return Err(classify(object, error)),
            }
        }
        Ok(())
    }

    /// Sets or removes the finalizer. A conflict is an error, because the engine has changed in between.
    async fn hold(&self, is_held: bool) -> Result<(), ApplyError> {
        let identity = self.identity();
        let metadata = &self.engine.metadata;
        let others = metadata.finalizers.iter().flatten().map(String::as_str);
        let others = others.filter(|finalizer| *finalizer != RAG_ENGINE_FINALIZER);
        let finalizers: Vec<_> = others.chain(is_held.then_some(RAG_ENGINE_FINALIZER)).collect();
        let patch = json!({"metadata": {
            "uid": metadata.uid, "resourceVersion": metadata.resource_version, "finalizers": finalizers,
        }});
        let engines: Api<RagEngine> = Api::namespaced(self.client.clone(), &identity.namespace);
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match within_limit(engines.patch(&identity.name, &parameters, &Patch::Merge(&patch))).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 && !is_held => Ok(()),
            Err(source) => Err(ApplyError::Failed { object: described::<RagEngine>(&identity.name), source }),
        }
    }

    fn identity(&self) -> Identity {
        Identity::of(self.engine)
    }

    fn name(&self) -> String {
        let identity = self.identity();
        format!("{}/{}", identity.namespace, identity.name)
    }
}
