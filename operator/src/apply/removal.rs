//! Removes objects that are no longer desired.

use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::{DeleteParams, ObjectMeta, Preconditions};
use tracing::info;

use super::{Applicable, ApplyError, Freshness, Writer, classify, described};
use crate::requests::within_limit;

impl Writer<'_> {
    /// Removes an object that is no longer desired.
    pub(super) async fn remove<K>(&self, live: Option<&K>) -> Result<Freshness, ApplyError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        match live {
            None => Ok(Freshness::Current),
            Some(found) => self.delete::<K>(found.meta()).await,
        }
    }

    async fn delete<K>(&self, metadata: &ObjectMeta) -> Result<Freshness, ApplyError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        if !self.identity.made(metadata) || metadata.deletion_timestamp.is_some() {
            return Ok(Freshness::Current);
        }
        let name = metadata.name.clone().unwrap_or_default();
        let object = described::<K>(&name);
        // Protects a newer object of the same name.
        let this_one = Preconditions { uid: metadata.uid.clone(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
        match within_limit(self.api::<K>().delete(&name, &parameters)).await {
            Ok(_) => {
                let engine = format!("{}/{}", self.identity.namespace, self.identity.name);
                info!(engine, object, "object removed: it is no longer desired");
                Ok(Freshness::Current)
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Freshness::Current),
            Err(error) => Err(classify(object, error)),
        }
    }
}
