//! Documents of Indexes that are gone: a Job of the engine deletes them where the Index asked for it, whether the operator ran when it went or not.
//! The server's own records say whose documents it has, so nothing has to hold an Index until that is done.

mod plan;

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

/// The most that a server may name.
const MAX_OWNERS: usize = 1000;
/// The longest uid, which becomes a label's value.
const MAX_UID: usize = 63;
/// The longest name of an index, in bytes.
const MAX_INDEX_NAME: usize = 63;
/// The longest words of others that a status repeats, in characters.
const MAX_WORDS: usize = 300;

/// What came of looking after them.
#[derive(Debug, Default)]
pub struct DeletionProgress {
    /// Why documents are still there, when the last attempt has failed.
    pub failure: Option<Finding>,
    /// When to look again though nothing has happened.
    pub look_again: Option<Duration>,
    /// Why the next deletion could not be begun. It is tried again.
    pub error: Option<Error>,
}

impl DeletionProgress {
    /// The deletion could not be begun.
    fn failed(error: Error) -> Self {
        let why = shortened(&error.to_string(), MAX_WORDS);
        let words = format!("documents of a deleted Index could not be removed: {why}. The operator tries again");
        Self { failure: Some(Finding::new(Reason::DeletionFailed, words)), look_again: None, error: Some(error) }
    }
}

/// Begins the next deletion from an engine, when one is due. One runs at a time. `told` is what its server said last.
pub async fn delete_next(context: &Context, engine: &RagEngine, engine_status: Option<&EngineStatus>) -> DeletionProgress {
    match begin_next(context, engine, engine_status).await {
        Ok(deletion) => deletion,
        // The API server does not say whether an Index is there, or the Job cannot be made.
        Err(error) => DeletionProgress::failed(error),
    }
}

async fn begin_next(context: &Context, engine: &RagEngine, engine_status: Option<&EngineStatus>) -> Result<DeletionProgress, Error> {
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

/// Whether documents of an Index of this name that is gone are being deleted: what another of that name writes meanwhile could go with them.
pub fn is_cleared(context: &Context, identity: &IndexIdentity) -> bool {
    let jobs = context.caches.deletions_of(identity);
    context.departures.is_starting(&key(&identity.namespace, &identity.name), &jobs)
        || jobs.iter().any(|job| job::stage(job) == job::Stage::Running)
}

/// Where an engine's documents are: what was copied to another volume is nobody's, however it came there.
pub fn scope_of(caches: &Caches, engine: &RagEngine) -> String {
    let identity = Identity::of(engine);
    let claim = identity.claim_of(&engine.spec).and_then(|claim| caches.claims.get(&identity.namespace, &claim));
    claim.and_then(|claim| claim.metadata.uid.clone()).unwrap_or(identity.uid)
}

/// Those that are gone for good, of whom the server has something that goes with them, in its order. Its records may be older than what an Index said when
/// it went.
fn gone(context: &Context, engine: &RagEngine, engine_status: Option<&EngineStatus>) -> Vec<DeletedIndex> {
    let owners = engine_status.map_or(&[][..], |engine_status| engine_status.owners.as_slice());
    let identity = Identity::of(engine);
    let scope = if owners.is_empty() { String::new() } else { scope_of(&context.caches, engine) };
    let ours = owners.iter().take(MAX_OWNERS).filter(|owner| owner.scope == scope && can_be_an_index(owner));
    let gone: Vec<&OwnedSources> = ours.filter(|owner| !is_there(context, &identity, owner)).collect();
    let uids: Vec<&str> = gone.iter().map(|owner| owner.uid.as_str()).collect();
    let waits = context.departures.waits(&identity.uid, &uids);
    gone.into_iter().zip(waits).filter_map(|(owner, wait)| Some(DeletedIndex { owner: owner.clone(), wait: wait? })).collect()
}

/// Whoever makes the server's image chooses what it says: what no Index can have is nobody's.
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

/// Whether the Index is there, or another of its name has its documents now.
fn is_there(context: &Context, engine: &Identity, owner: &OwnedSources) -> bool {
    let has_uid = |index: &Index| index.metadata.uid.as_deref() == Some(&owner.uid);
    let found = context.index_store.get(&ObjectRef::new(&owner.name).within(&engine.namespace));
    found.is_some_and(|index| has_uid(&index) || takes_over(&index, &engine.name, owner))
}

fn takes_over(index: &Index, engine: &str, owner: &OwnedSources) -> bool {
    index.spec.engine_ref.name == engine && index.index_name() == owner.index
}

/// The API server is asked itself: a cache may be behind.
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
    // Before the Job is there, so that an Index of this name that comes now waits for it.
    context.departures.starts(&key, job_name);
    let desired = sync_job::deletion(engine, owner, job_name, sync_id, &context.defaults)?;
    // Who got no answer may have made it all the same, so it counts as begun for a while whatever came of it.
    if sync_job::make(&context.client, desired).await? != Made::Done {
        return Ok(());
    }
    info!(
        index = format!("{namespace}/{}", owner.name),
        job = job_name,
        "the Index is gone: its documents are deleted"
    );
    Ok(())
}

/// Whom an Index of a name is to the deletions.
fn key(namespace: &str, index: &str) -> Owner {
    Owner { kind: crate::names::Kind::Index, namespace: namespace.to_owned(), name: index.to_owned() }
}
