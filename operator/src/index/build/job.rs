use std::collections::BTreeMap;

use ragengine_client::wire::{SourceOwner, WhenOwnerIsGone};
use ragengine_operator_api::{CONFIRM_DELETE_ANNOTATION, IndexDeletionPolicy, SYNC_ANNOTATION};

use super::Synchronisation;
use crate::names::{AFTER, IndexIdentity, SPECIFICATION, SYNC_ID, WANTED};
use crate::sync_job::Ingredients;

/// The ingredients of the Job of one synchronisation.
pub(super) fn ingredients(what: Synchronisation<'_>) -> Ingredients<'_> {
    let Synchronisation { index, validated: _, engine, observed, start } = what;
    let identity = IndexIdentity::of(index);
    let mut metadata = identity.owned(&start.job_name);
    let labels = [
        (SYNC_ID, &start.sync_id),
        (WANTED, &start.desired_revision.wanted),
        (SPECIFICATION, &start.desired_revision.specification),
    ];
    let after = start.after.iter().map(|after| (AFTER, after));
    let labels = labels.into_iter().chain(after).map(|(label, value)| (label.to_owned(), value.clone()));
    metadata.labels.get_or_insert_default().extend(labels);
    let requests = [(SYNC_ANNOTATION, &start.sync), (CONFIRM_DELETE_ANNOTATION, &start.confirm_delete)];
    let annotations: BTreeMap<_, _> =
        requests.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
    metadata.annotations = (!annotations.is_empty()).then_some(annotations);
    let owner = SourceOwner {
        name: identity.name.clone(),
        uid: identity.uid.clone(),
        scope: observed.scope.clone(),
        when_gone: match index.spec.deletion_policy {
            IndexDeletionPolicy::Delete => WhenOwnerIsGone::Delete,
            IndexDeletionPolicy::Retain => WhenOwnerIsGone::Retain,
        },
    };
    Ingredients {
        metadata,
        pod_labels: identity.labels(),
        engine,
        sources: &index.spec.sources,
        resources: index.spec.resources.clone(),
        sync_id: &start.sync_id,
        owner: Some(owner),
        api_server: &observed.api_server,
    }
}
