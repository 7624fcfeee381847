//! Deletes the documents of deleted Indexes. A Job of the engine does it if the Index asked for it, whether or not the
//! operator was running at the time of the deletion. The server records the owner of each document, so no finalizer has
//! to hold the Index.

mod plan;

use std::collections::BTreeSet;
use std::time::Duration;

use kube::api::Api;
use kube::runtime::reflector::ObjectRef;
use ragengine_client::wire::{EngineStatus, OwnedSources};
use ragengine_operator_api::{Index, RagEngine, Reason};
use tracing::info;

use plan::{DeletedIndex, Seen, Step};

use crate::apply::classify;
use crate::context::Context;
use crate::error::Error;
use crate::finding::{Finding, shortened};
use crate::job;
use crate::names::{Identity, IndexIdentity, Owner};
use crate::pod;
use crate::requests::within_limit;
use crate::sync_job::{self, Made};
use crate::watches::Caches;

/// The maximum number of owners that are read from a server's status.
const MAX_OWNERS: usize = 1000;
/// The maximum length of a uid, which becomes the value of a label.
const MAX_UID: usize = 63;
/// The maximum length of an index name, in bytes.
const MAX_INDEX_NAME: usize = 63;
/// The maximum length of an error message in the status, in characters.
const MAX_WORDS: usize = 300;

/// The progress of these deletions.
#[derive(Debug, Default)]
pub struct DeletionProgress {
    /// Why the last attempt failed, if it did.
    pub failure: Option<Finding>,
    /// When to reconcile again without an event.
    pub look_again: Option<Duration>,
    /// Why the next deletion could not be started. The controller tries again.
    pub error: Option<Error>,
}

impl DeletionProgress {
    /// A deletion that could not be started.
    fn failed(error: Error) -> Self {
        let why = shortened(&error.to_string(), MAX_WORDS);
        let message = format!("documents of a deleted Index could not be removed: {why}. The operator tries again");
        Self { failure: Some(Finding::new(Reason::DeletionFailed, message)), look_again: None, error: Some(error) }
    }
}

/// Starts the next deletion from an engine if one is due. Only one runs at a time. `engine_status` is the last status
/// of its server.
pub async fn delete_next(
    context: &Context,
    engine: &RagEngine,
    engine_status: Option<&EngineStatus>,
) -> DeletionProgress {
    match begin_next(context, engine, engine_status).await {
        Ok(deletion) => deletion,
        // The API server does not answer, or the Job cannot be created.
        Err(error) => DeletionProgress::failed(error),
    }
}

async fn begin_next(
    context: &Context,
    engine: &RagEngine,
    engine_status: Option<&EngineStatus>,
) -> Result<DeletionProgress, Error> {
    let gone = gone(context, engine, engine_status);
    if gone.is_empty() {
        return Ok(DeletionProgress::default());
    }
    let identity = Identity::of(engine);
    let jobs = context.caches.deletions_from(&identity);
    let is_written = |index: &str| {
        let pods = context.caches.pods_of_jobs_for(&identity.namespace, index);
        pods.iter().any(|pod| pod::is_alive(pod))
            || context.departures.is_starting(&key(&identity.namespace, index), &jobs)
    };
    let plan = plan::plan(&gone, &Seen { jobs: &jobs, is_written: &is_written, now: (context.clock)() });
    if let Step::Start { owner, job_name, sync_id } = &plan.step
        && is_really_gone(context, &identity, owner).await?
    {
        start(context, engine, owner, job_name, sync_id).await?;
    }
    Ok(DeletionProgress { failure: plan.failure, look_again: plan.look_again, error: None })
}

/// Whether documents of a deleted Index of this name are being removed. A new Index of that name must wait, or its
/// documents could be deleted too.
pub fn is_cleared(context: &Context, identity: &IndexIdentity) -> bool {
    let jobs = context.caches.deletions_of(identity);
    context.departures.is_starting(&key(&identity.namespace, &identity.name), &jobs)
        || jobs.iter().any(|job| job::stage(job) == job::Stage::Running)
}

/// The scope of an engine's documents: the uid of its volume claim. Documents that were copied to another volume
/// therefore belong to no Index.
pub fn scope_of(caches: &Caches, engine: &RagEngine) -> String {
    let identity = Identity::of(engine);
    let claim = identity.claim_of(&engine.spec).and_then(|claim| caches.claims.get(&identity.namespace, &claim));
    claim.and_then(|claim| claim.metadata.uid.clone()).unwrap_or(identity.uid)
}

/// The names of the indexes in which the server still has documents of deleted Indexes.
pub fn left_behind(context: &Context, engine: &RagEngine, engine_status: &EngineStatus) -> BTreeSet<String> {
    missing(context, engine, Some(engine_status)).into_iter().map(|owner| owner.index.clone()).collect()
}

/// The owners in the server's records whose Indexes do not exist.
fn missing<'a>(
    context: &Context,
    engine: &RagEngine,
    engine_status: Option<&'a EngineStatus>,
) -> Vec<&'a OwnedSources> {
    let owners = engine_status.map_or(&[][..], |engine_status| engine_status.owners.as_slice());
    let identity = Identity::of(engine);
    let scope = if owners.is_empty() { String::new() } else { scope_of(&context.caches, engine) };
    let ours = owners.iter().take(MAX_OWNERS).filter(|owner| owner.scope == scope && can_be_an_index(owner));
    ours.filter(|owner| !is_there(context, &identity, owner)).collect()
}

/// The deleted Indexes that the server still has documents of and whose documents are to be deleted. The deletion
/// policy that was seen last wins over the server's records.
fn gone(context: &Context, engine: &RagEngine, engine_status: Option<&EngineStatus>) -> Vec<DeletedIndex> {
    let identity = Identity::of(engine);
    let gone = missing(context, engine, engine_status);
    let uids: Vec<&str> = gone.iter().map(|owner| owner.uid.as_str()).collect();
    let waits = context.departures.waits(&identity.uid, &uids);
    gone.into_iter()
        .zip(waits)
        .filter_map(|(owner, wait)| Some(DeletedIndex { owner: owner.clone(), wait: wait? }))
        .collect()
}

/// Whether this can be the owner record of an Index. A custom server image can report anything.
fn can_be_an_index(owner: &OwnedSources) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    can_be_a_name(&owner.name)
        && (1..=MAX_UID).contains(&owner.uid.len())
        && owner.uid.bytes().all(is_inner)
        && !owner.uid.starts_with('-')
        && !owner.uid.ends_with('-')
        && owner.index.len() <= MAX_INDEX_NAME
}

fn can_be_a_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=50).contains(&name.len())
        && name.bytes().all(is_inner)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
}

/// Whether the Index exists, or another Index of its name has taken over its documents.
fn is_there(context: &Context, engine: &Identity, owner: &OwnedSources) -> bool {
    let has_uid = |index: &Index| index.metadata.uid.as_deref() == Some(&owner.uid);
    let found = context.index_store.get(&ObjectRef::new(&owner.name).within(&engine.namespace));
    found.is_some_and(|index| has_uid(&index) || takes_over(&index, &engine.name, owner))
}

fn takes_over(index: &Index, engine: &str, owner: &OwnedSources) -> bool {
    index.spec.engine_ref.name == engine && index.index_name() == owner.index
}

/// Asks the API server directly, because a cache may lag behind.
async fn is_really_gone(context: &Context, engine: &Identity, owner: &OwnedSources) -> Result<bool, Error> {
    let indexes: Api<Index> = Api::namespaced(context.client.clone(), &engine.namespace);
    let found = within_limit(indexes.get_opt(&owner.name)).await;
    let found = found.map_err(|error| classify(format!("Index {}", owner.name), error))?;
    Ok(!found.is_some_and(|index| {
        index.metadata.uid.as_deref() == Some(&owner.uid) || takes_over(&index, &engine.name, owner)
    }))
}

async fn start(
    context: &Context,
    engine: &RagEngine,
    owner: &OwnedSources,
    job_name: &str,
    sync_id: &str,
) -> Result<(), Error> {
    let namespace = Identity::of(engine).namespace;
    let key = key(&namespace, &owner.name);
    // Recorded before the Job exists, so that a new Index of this name waits for it.
    context.departures.starts(&key, job_name);
    let desired = sync_job::deletion(engine, owner, job_name, sync_id, &context.defaults)?;
    // The Job may exist even if the request got no answer, so it counts as started in any case.
    if sync_job::make(&context.client, desired).await? != Made::Done {
        return Ok(());
    }
    info!(
        index = format!("{namespace}/{}", owner.name),
        job = job_name,
        "the Index was deleted: its documents are being removed"
    );
    Ok(())
}

/// The owner under which deletions for an Index name are recorded.
fn key(namespace: &str, index: &str) -> Owner {
    Owner { kind: crate::names::Kind::Index, namespace: namespace.to_owned(), name: index.to_owned() }
}
