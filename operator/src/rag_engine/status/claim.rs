use ragengine_operator_api::{RagEngine, Reason, Volume};

use crate::finding::{Finding, unended};
use crate::rag_engine::observe::Observed;

/// A named claim that does not exist, or a claim without a volume.
pub(super) fn problem(engine: &RagEngine, observed: &Observed) -> Option<Finding> {
    let volume = engine.spec.storage.as_ref()?.volume();
    let Some(claim) = &observed.claim else {
        let Volume::Existing { claim, .. } = volume else { return None };
        return Some(Finding::new(
            Reason::ClaimMissing,
            format!(
                "PersistentVolumeClaim {claim} does not exist in this namespace: create it, and the engine continues"
            ),
        ));
    };
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    let then = match volume {
        Volume::Existing { .. } => "and create the claim again",
        _ => "and the operator creates an empty claim",
    };
    match claim.status.as_ref().and_then(|status| status.phase.as_deref()) {
        Some("Lost") => Some(Finding::new(
            Reason::ClaimNotBound,
            format!(
                "PersistentVolumeClaim {name} has lost its volume, and with it the indexes: restore the volume. \
                 If that is not possible, delete the claim and the pod, {then}"
            ),
        )),
        // A pending claim without a warning waits for its pod or its volume: that is normal.
        Some("Pending") => {
            let warning = observed.warnings.iter().rev().find(|warning| {
                Some(&warning.uid) == claim.metadata.uid.as_ref() && warning.reason == "ProvisioningFailed"
            })?;
            Some(Finding::new(
                Reason::ClaimNotBound,
                format!(
                    "PersistentVolumeClaim {name} cannot be provisioned: {}. Check the storage classes \
                     (kubectl get storageclass): a new RAGEngine can name another one in \
                     storage.persistentVolume.storageClassName",
                    unended(&warning.message)
                ),
            ))
        }
        _ => None,
    }
}
