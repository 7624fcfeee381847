//! The definitions of RAGEngine and Index, which the whole cluster has once.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use ragengine_operator_api::{index_definition, rag_engine_definition};
use tokio::sync::OnceCell;

use crate::{Error, wait};

/// The names of the definitions.
pub const NAMES: [&str; 2] = ["ragengines.ragengine.dev", "indexes.ragengine.dev"];

/// Installs the definitions, or brings them up to date, once in a run. They stay: others may have such objects.
///
/// # Errors
///
/// When the cluster refuses, or does not serve them in time.
pub async fn install(client: &Client) -> Result<(), Error> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    INSTALLED.get_or_try_init(async || install_again(client).await).await.copied()
}

/// The same for a test that has removed them.
///
/// # Errors
///
/// When the cluster refuses, or does not serve them in time.
pub async fn install_again(client: &Client) -> Result<(), Error> {
    for (name, definition) in NAMES.into_iter().zip([rag_engine_definition(), index_definition()]) {
        apply(client, name, definition).await?;
    }
    Ok(())
}

async fn apply(client: &Client, name: &str, definition: CustomResourceDefinition) -> Result<(), Error> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let parameters = PatchParams::apply("ragengine-e2e").force();
    let applying = definitions.patch(name, &parameters, &Patch::Apply(definition)).await;
    applying.map_err(Error::kubernetes(format!("installing the definition {name}")))?;
    wait::until_object(&definitions, name, &format!("the API server serves {name}"), |definition| {
        let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let established = conditions.into_iter().find(|condition| condition.type_ == "Established");
        match established.map(|condition| condition.status.as_str()) {
            Some("True") => Ok(()),
            status => Err(format!("Established is {status:?}")),
        }
    })
    .await
}
