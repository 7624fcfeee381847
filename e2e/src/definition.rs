//! The definition of RAGEngine, which the whole cluster has once.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use ragengine_operator_api::rag_engine_definition;
use tokio::sync::OnceCell;

use crate::{Error, wait};

/// The definition's name.
pub const NAME: &str = "ragengines.ragengine.dev";

/// Installs the definition, or brings it up to date, once in a run. It stays: others may have RAGEngines.
///
/// # Errors
///
/// When the cluster refuses, or does not serve it in time.
pub async fn install(client: &Client) -> Result<(), Error> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    INSTALLED.get_or_try_init(async || apply(client).await).await.copied()
}

async fn apply(client: &Client) -> Result<(), Error> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let parameters = PatchParams::apply("ragengine-e2e").force();
    let applying = definitions.patch(NAME, &parameters, &Patch::Apply(rag_engine_definition())).await;
    applying.map_err(Error::kubernetes("installing the definition of RAGEngine"))?;
    wait::until_object(&definitions, NAME, "the API server serves RAGEngines", |definition| {
        let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let established = conditions.into_iter().find(|condition| condition.type_ == "Established");
        match established.map(|condition| condition.status.as_str()) {
            Some("True") => Ok(()),
            status => Err(format!("Established is {status:?}")),
        }
    })
    .await
}
