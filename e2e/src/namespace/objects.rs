use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Namespace;
use crate::{Error, wait};

/// The field manager of objects that a test applies. To the operator it is a user.
const USER: &str = "e2e-user";

/// A kind of namespaced object.
pub trait Object:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug
{
}
impl<K> Object for K where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug
{
}

impl Namespace {
    /// Creates an object.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn create_object<K: Object>(&self, object: &K) -> Result<K, Error> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let doing = format!("creating the {} {name} in {}", K::kind(&()), self.name);
        self.api().create(&PostParams::default(), object).await.map_err(Error::kubernetes(doing))
    }

    /// Reads an object.
    ///
    /// # Errors
    ///
    /// When it does not exist.
    pub async fn get<K: Object>(&self, name: &str) -> Result<K, Error> {
        let doing = format!("reading the {} {name} in {}", K::kind(&()), self.name);
        self.api().get(name).await.map_err(Error::kubernetes(doing))
    }

    /// Whether an object exists.
    ///
    /// # Errors
    ///
    /// When the request to the cluster fails.
    pub async fn has<K: Object>(&self, name: &str) -> Result<bool, Error> {
        let doing = format!("looking for the {} {name} in {}", K::kind(&()), self.name);
        Ok(self.api::<K>().get_opt(name).await.map_err(Error::kubernetes(doing))?.is_some())
    }

    /// Applies an object with server-side apply, like `kubectl apply --server-side`.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn apply<K: Object>(&self, name: &str, object: &Value) -> Result<K, Error> {
        let doing = format!("applying the {} {name} in {}", K::kind(&()), self.name);
        let parameters = PatchParams::apply(USER).force();
        self.api().patch(name, &parameters, &Patch::Apply(object)).await.map_err(Error::kubernetes(doing))
    }

    /// Changes an object with a merge patch: fields that are null in the patch are removed.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn change<K: Object>(&self, name: &str, patch: &Value) -> Result<K, Error> {
        let doing = format!("changing the {} {name} in {}", K::kind(&()), self.name);
        let parameters = PatchParams { field_manager: Some(USER.to_owned()), ..PatchParams::default() };
        self.api().patch(name, &parameters, &Patch::Merge(patch)).await.map_err(Error::kubernetes(doing))
    }

    /// Deletes an object without waiting until it is gone.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn delete<K: Object>(&self, name: &str) -> Result<(), Error> {
        let doing = format!("deleting the {} {name} in {}", K::kind(&()), self.name);
        let deleting = self.api::<K>().delete(name, &DeleteParams::background()).await;
        deleting.map(drop).map_err(Error::kubernetes(doing))
    }

    /// Waits until `judge` returns a value for an object. Otherwise `judge` returns a description of the object.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until<K: Object, T>(
        &self,
        name: &str,
        wanted: &str,
        judge: impl FnMut(&K) -> Result<T, String>,
    ) -> Result<T, Error> {
        wait::until_object(&self.api(), name, wanted, judge).await
    }

    /// Waits until an object is gone.
    ///
    /// # Errors
    ///
    /// When it still exists at the end of the time limit.
    pub async fn until_gone<K: Object>(&self, name: &str) -> Result<(), Error> {
        let objects = self.api::<K>();
        wait::until(&format!("the {} {name} is gone", K::kind(&())), async || match objects.get_opt(name).await {
            Ok(None) => Ok(()),
            Ok(Some(object)) => Err(format!("deleted at {:?}", object.meta().deletion_timestamp)),
            Err(error) => Err(error.to_string()),
        })
        .await
    }
}
