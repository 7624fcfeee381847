//! Objects that are created once and never updated.

use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::PostParams;
use tracing::info;

use super::memory::Decision;
use super::{Applicable, ApplyError, Freshness, Writer, classify, described};
use crate::names::FIELD_MANAGER;
use crate::requests::within_limit;

impl Writer<'_> {
    /// Creates an object that the caches do not have. `make_up` is called only if the object was not just sent.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] when `make_up` fails or the API server refuses. An object that already exists is no error and is
    /// kept.
    pub async fn make_once<K>(
        &self,
        name: &str,
        make_up: impl FnOnce() -> Result<K, ApplyError>,
    ) -> Result<Freshness, ApplyError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Applicable,
    {
        let key = self.key::<K>(name);
        if self.memory.decide(&key, "made", None) != Decision::Compare {
            return Ok(Freshness::Lagging);
        }
        let object = described::<K>(name);
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match within_limit(self.api::<K>().create(&parameters, &make_up()?)).await {
            Ok(made) => {
                self.memory.sent(key, "made", made.meta().resource_version.as_deref());
                let engine = format!("{}/{}", self.identity.namespace, self.identity.name);
                info!(engine, object, "object created");
                Ok(Freshness::Lagging)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Freshness::Lagging),
            Err(error) => Err(classify(object, error)),
        }
    }
}
