use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use ragengine_operator_api::{DeletionPolicy, Volume};

use crate::quantity;
use crate::rag_engine::validate::Validated;

/// The claim. By default it has no owner and outlives the RAGEngine.
pub(super) fn claim(validated: &Validated, live: Option<&PersistentVolumeClaim>) -> Option<PersistentVolumeClaim> {
    let volume = validated.spec.storage.as_ref().map(|storage| storage.volume())?;
    let Volume::Provisioned { size, storage_class_name, deletion_policy, .. } = volume else { return None };
    let identity = &validated.identity;
    let metadata = match deletion_policy {
        DeletionPolicy::Delete => identity.owned(&identity.claim()),
        DeletionPolicy::Retain => identity.kept(&identity.claim()),
    };
    let size = BTreeMap::from([("storage".to_owned(), size_to_ask_for(size, live))]);
    Some(PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements { requests: Some(size), limits: None }),
            storage_class_name: storage_class_name.map(str::to_owned),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    })
}

/// A claim cannot shrink, so a size that a user increased is kept.
fn size_to_ask_for(asked: &str, live: Option<&PersistentVolumeClaim>) -> Quantity {
    let asked = Quantity(asked.to_owned());
    let requests = live.and_then(|claim| claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref());
    match requests.and_then(|requests| requests.get("storage")) {
        Some(grown) if quantity::value(&grown.0) > quantity::value(&asked.0) => grown.clone(),
        _ => asked,
    }
}
