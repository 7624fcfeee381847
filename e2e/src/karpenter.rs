//! Karpenter, played by a test: its real definition of NodeClaims, and what it writes about them.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::{Error, wait};

/// The name of the definition.
const NAME: &str = "nodeclaims.karpenter.sh";
/// The label of a definition that a test has installed.
const LABEL: &str = "ragengine.io/e2e-test";

/// The definition in the cluster, which is for all tests, and the NodeClaims.
pub struct Karpenter {
    client: Client,
    definition: CustomResourceDefinition,
    claims: Api<DynamicObject>,
}

impl Karpenter {
    /// Reads the definition that `e2e/cluster/karpenter.sh` has fetched.
    ///
    /// # Errors
    ///
    /// When it could not be fetched. When it was not requested, or the cluster has Karpenter: [`Error::Lacking`].
    pub async fn find(client: &Client) -> Result<Self, Error> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(why) = variable("RAGENGINE_KARPENTER_FAILURE") {
            return Err(Error::Environment(format!("the definition of NodeClaims could not be fetched:\n{why}")));
        }
        let path = variable("RAGENGINE_KARPENTER_DEFINITION")
            .ok_or_else(|| Error::Lacking("RAGENGINE_KARPENTER_DEFINITION is not set".to_owned()))?;
        let wrong = |error: &dyn ToString| Error::Environment(format!("{path}: {}", error.to_string()));
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        let mut definition: CustomResourceDefinition = serde_saphyr::from_str(&text).map_err(|error| wrong(&error))?;
        definition.metadata.labels.get_or_insert_default().insert(LABEL.to_owned(), "karpenter".to_owned());
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim"));
        let karpenter = Self { client: client.clone(), definition, claims: Api::all_with(client.clone(), &kind) };
        let found = karpenter.definitions().get_opt(NAME).await;
        let found = found.map_err(Error::kubernetes("looking for the definition of NodeClaims"))?;
        // One without the label is not ours to delete. One with it is left over from an interrupted run.
        let is_theirs = |found: &CustomResourceDefinition| {
            found.metadata.labels.as_ref().is_none_or(|labels| !labels.contains_key(LABEL))
        };
        match found {
            Some(found) if is_theirs(&found) => Err(Error::Lacking("the cluster has Karpenter".to_owned())),
            Some(_) => karpenter.remove().await.map(|()| karpenter),
            None => Ok(karpenter),
        }
    }

    fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    /// Installs the definition, and waits until NodeClaims are served.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or does not serve them in time.
    pub async fn install(&self) -> Result<(), Error> {
        let installing = self.definitions().create(&PostParams::default(), &self.definition).await;
        installing.map_err(Error::kubernetes("installing the definition of NodeClaims"))?;
        wait::until("NodeClaims are served", async || self.names().await.map_err(|error| error.to_string())).await?;
        Ok(())
    }

    /// Deletes the definition with all NodeClaims, and waits until it is gone.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or it is not gone in time.
    pub async fn remove(&self) -> Result<(), Error> {
        match self.definitions().delete(NAME, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(error) => return Err(Error::kubernetes("deleting the definition of NodeClaims")(error)),
        }
        wait::until("the definition of NodeClaims is gone", async || match self.definitions().get_opt(NAME).await {
            Ok(None) => Ok(()),
            found => Err(format!("{found:?}")),
        })
        .await
    }

    /// The names of the NodeClaims.
    ///
    /// # Errors
    ///
    /// When the request to the cluster fails.
    pub async fn names(&self) -> Result<Vec<String>, Error> {
        let found = self.claims.list(&kube::api::ListParams::default()).await;
        let found = found.map_err(Error::kubernetes("listing NodeClaims"))?.items;
        Ok(found.into_iter().filter_map(|claim| claim.metadata.name).collect())
    }

    /// Waits until there are so many NodeClaims. Returns them.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_claims(&self, count: usize) -> Result<Vec<Value>, Error> {
        wait::until(&format!("{count} NodeClaims"), async || {
            let found = self.claims.list(&kube::api::ListParams::default()).await;
            let found = found.map_err(|error| error.to_string())?.items;
            if found.len() == count {
                Ok(found.iter().map(|claim| json!(claim)).collect())
            } else {
                Err(format!("{found:?}"))
            }
        })
        .await
    }

    /// Waits for a NodeClaim other than the one with this uid.
    ///
    /// # Errors
    ///
    /// When there is none in time.
    pub async fn until_claim_besides(&self, uid: &Value) -> Result<Value, Error> {
        wait::until("another NodeClaim", async || {
            let found = self.claims.list(&kube::api::ListParams::default()).await;
            let found = found.map_err(|error| error.to_string())?.items;
            let mut others = found.iter().map(|claim| json!(claim)).filter(|claim| claim["metadata"]["uid"] != *uid);
            others.next().ok_or_else(|| format!("{found:?}"))
        })
        .await
    }

    /// Writes conditions of a NodeClaim, and the name of its node if there is one, as Karpenter does.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn says(&self, claim: &str, conditions: Value, node: Option<&str>) -> Result<(), Error> {
        let status = json!({"conditions": conditions, "nodeName": node});
        let patching =
            self.claims.patch_status(claim, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await;
        patching.map(drop).map_err(Error::kubernetes(format!("writing the status of the NodeClaim {claim}")))
    }

    /// Sets labels of a node of the cluster, or removes those that are null. Returns the name of the node.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn label_node(&self, labels: &Value) -> Result<String, Error> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let found = nodes.list(&kube::api::ListParams::default()).await.map_err(Error::kubernetes("listing nodes"))?;
        let name = found.items.into_iter().find_map(|node| node.metadata.name).unwrap_or_default();
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        let patching = nodes.patch(&name, &PatchParams::default(), &patch).await;
        patching.map_err(Error::kubernetes(format!("labelling the node {name}")))?;
        Ok(name)
    }
}
