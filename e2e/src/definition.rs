//! The custom resource definitions of RAGEngine and Index. They are cluster-wide.

use futures_util::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use ragengine_operator_api::{index_definition, rag_engine_definition};
use serde_json::{Value, json};

use crate::{Error, turns, wait};

/// The names of the definitions.
pub const NAMES: [&str; 2] = ["ragengines.ragengine.dev", "indexes.ragengine.dev"];

/// Installs or updates the definitions, once in a run. They stay installed, because other users may have such objects.
///
/// # Errors
///
/// When the cluster refuses, or does not serve them in time.
pub async fn install(client: &Client) -> Result<(), Error> {
    turns::once_in_run("definitions", async || install_again(client).await).await
}

/// Installs the definitions again, for a test that has removed or replaced them.
///
/// # Errors
///
/// When the cluster refuses, or does not serve them in time.
pub async fn install_again(client: &Client) -> Result<(), Error> {
    for (name, definition) in NAMES.into_iter().zip(current()) {
        apply(client, name, definition).await?;
    }
    Ok(())
}

/// The definitions of this release, in the order of [`NAMES`].
pub fn current() -> [CustomResourceDefinition; 2] {
    [rag_engine_definition(), index_definition()]
}

/// The definitions in the cluster, in the order of [`NAMES`].
///
/// # Errors
///
/// When one does not exist.
pub async fn read(client: &Client) -> Result<Vec<CustomResourceDefinition>, Error> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let reading = NAMES.iter().map(async |name| {
        definitions.get(name).await.map_err(Error::kubernetes(format!("reading the definition {name}")))
    });
    try_join_all(reading).await
}

/// Replaces the definitions, in the order of [`NAMES`]. The objects stay.
///
/// # Errors
///
/// When the cluster refuses.
pub async fn replace(client: &Client, others: Vec<CustomResourceDefinition>) -> Result<(), Error> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    for (name, (found, mut other)) in NAMES.into_iter().zip(read(client).await?.into_iter().zip(others)) {
        other.metadata.resource_version = found.metadata.resource_version;
        let replacing = definitions.replace(name, &PostParams::default(), &other).await;
        replacing.map_err(Error::kubernetes(format!("replacing the definition {name}")))?;
    }
    Ok(())
}

/// The annotations by which Helm records the release that owns an object.
const MARKS: [&str; 3] = ["meta.helm.sh/release-name", "meta.helm.sh/release-namespace", "helm.sh/resource-policy"];
/// The label by which Helm records that it manages an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Helm's records of the release that owns the definitions.
pub struct HelmOwnership(Vec<Value>);

impl HelmOwnership {
    /// Reads the records.
    ///
    /// # Errors
    ///
    /// When a definition does not exist.
    pub async fn read(client: &Client) -> Result<Self, Error> {
        let marks = |definition: &CustomResourceDefinition| {
            let annotations = definition.metadata.annotations.clone().unwrap_or_default();
            let labels = definition.metadata.labels.clone().unwrap_or_default();
            let marks: serde_json::Map<String, Value> =
                MARKS.iter().map(|mark| ((*mark).to_owned(), json!(annotations.get(*mark)))).collect();
            json!({"annotations": marks, "labels": {MANAGED_BY: labels.get(MANAGED_BY)}})
        };
        Ok(Self(read(client).await?.iter().map(marks).collect()))
    }

    /// Writes the records back, so that the previous release owns the definitions again.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn restore(self, client: &Client) -> Result<(), Error> {
        let definitions = Api::<CustomResourceDefinition>::all(client.clone());
        for (name, marks) in NAMES.into_iter().zip(self.0) {
            let patch = Patch::Merge(json!({"metadata": marks}));
            let marking = definitions.patch(name, &PatchParams::default(), &patch).await;
            marking.map_err(Error::kubernetes(format!("restoring the metadata of the definition {name}")))?;
        }
        Ok(())
    }
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
