//! What is there: from the caches that the watches fill, and events where a pod does not get on.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::ObjectRef;
use ragengine_client::wire::{EngineStatus, GrowingGeneration};
use ragengine_operator_api::{Index, IndexStatus, RagEngine, Writes};
use serde::Serialize;

use super::validate::references;
use crate::context::Context;
use crate::departed;
use crate::engine::Target;
use crate::job::{self, Stage};
use crate::names::{Identity, IndexIdentity};
use crate::pod;
use crate::records::{About, Question, Record};
use crate::secret_use;
use crate::warnings::{self, Warning};
use crate::watches::{Caches, Referred, version};

/// Everything that a reconcile looks at.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The engine that is named.
    pub engine: Option<Arc<RagEngine>>,
    /// Where its server can be asked.
    pub target: Option<Target>,
    /// Whether the server said, when it was asked last, that it can answer: it takes documents and deletions then.
    pub server_is_ready: bool,
    /// What the specification refers to, and the write token.
    pub references: Vec<ObservedReference>,
    /// The Jobs of this Index.
    pub jobs: Vec<Arc<Job>>,
    /// A Job was made a moment ago that is not among them yet.
    pub is_lagging: bool,
    /// Their pods.
    pub pods: Vec<Arc<Pod>>,
    /// What Kubernetes warns of: for a pod that does not get on.
    pub warnings: Vec<Warning>,
    /// What the engine said of the synchronisation when it was asked last.
    pub record: Option<Record>,
    /// Where the engine knows the Index as the owner of its documents: on this volume.
    pub scope: String,
    /// The API server's own addresses, behind that of its Service.
    pub api_server: Vec<IpAddr>,
    /// Documents of an Index of the same name that is gone are being deleted.
    pub is_cleared: bool,
    /// Secrets of sources have to say which hosts they may be sent to.
    pub hosts_are_required: bool,
    /// As many Jobs run as may run at a time, in all.
    pub is_crowded: bool,
    /// The next generation of the index, while the engine builds it.
    pub generation: Option<GrowingGeneration>,
    /// The engine's Jobs are to be bounded in what they reach, and the policy is not there.
    pub is_unbounded: bool,
    /// An older Index that fills the same index with other settings.
    pub rival: Option<String>,
}

/// Something that is referred to, as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservedReference {
    /// What it is, in words: `Secret git`.
    pub what: String,
    /// Its kind.
    #[serde(skip)]
    pub kind: Referred,
    /// Its version; none when it is not there.
    pub version: Option<String>,
    /// Its name.
    #[serde(skip)]
    pub name: String,
    /// Of a Secret of a source: why it may not be used.
    #[serde(skip)]
    pub refusal: Option<&'static str>,
    /// Of a Secret: the only hosts that it may be sent to, as it says.
    #[serde(skip)]
    pub hosts: Option<Vec<String>>,
    /// Whether another version is another wish. Of a claim and the write token it is enough that they are there.
    #[serde(skip)]
    pub is_watched: bool,
}

/// What wakes an Index when it comes, changes or goes.
pub fn referred(index: &Index) -> BTreeSet<(Referred, String)> {
    let engine = index.spec.engine_ref.name.clone();
    let token = (Referred::Secret, format!("{engine}-write"));
    let mut referred = references(&index.spec);
    referred.extend([(Referred::Engine, engine), token]);
    referred
}

/// Looks at everything that belongs to an Index.
///
/// # Errors
///
/// What the API server says when it is asked for events.
pub async fn observe(context: &Context, index: &Index) -> Result<Observed, kube::Error> {
    let identity = IndexIdentity::of(index);
    let caches = &context.caches;
    let namespace = identity.namespace.as_str();
    let engine = context.engine_store.get(&ObjectRef::new(&index.spec.engine_ref.name).within(namespace));
    let jobs = caches.jobs_of(&identity);
    let mut observed = Observed {
        target: engine.as_ref().and_then(|engine| Target::of(&caches.pods_of(&Identity::of(engine)))),
        server_is_ready: engine.as_deref().and_then(|engine| reachable_status(context, engine)).is_some_and(|status| status.ready),
        references: looked_up(context, index, engine.as_deref()),
        is_lagging: context.started.is_lagging(&identity.uid, &jobs),
        pods: caches.pods_of_jobs(&identity),
        warnings: Vec::new(),
        record: context.records.record(&identity.uid),
        generation: engine.as_deref().and_then(|engine| growing(context, engine, index.index_name())),
        rival: rival(index, &context.index_store.state()),
        scope: engine.as_deref().map(|engine| departed::scope_of(caches, engine)).unwrap_or_default(),
        api_server: context.api_server.addresses(),
        is_cleared: departed::is_cleared(context, &identity),
        hosts_are_required: context.defaults.require_secret_hosts,
        is_crowded: is_crowded(context, namespace),
        is_unbounded: engine.as_deref().is_some_and(|engine| is_unbounded(caches, engine)),
        engine,
        jobs,
    };
    if let Some(uid) = stuck(&observed).and_then(|pod| pod.metadata.uid.clone()) {
        observed.warnings = warnings::of(&context.client, namespace, &uid).await?;
    }
    Ok(observed)
}

/// Whether as many Jobs run as may, in all or in this namespace: no namespace takes more than half of the places.
fn is_crowded(context: &Context, namespace: &str) -> bool {
    let (all, here) = context.caches.running_jobs(namespace);
    let (max, recent) = (context.defaults.max_jobs, context.started.recent());
    all + recent >= max || here >= max.div_ceil(2)
}

fn is_unbounded(caches: &Caches, engine: &RagEngine) -> bool {
    let is_asked_for = engine.spec.network_policy.as_ref().is_some_and(|policy| policy.sync_egress.is_some());
    let identity = Identity::of(engine);
    is_asked_for && caches.network_policies.get(&identity.namespace, &identity.sync_policy()).is_none()
}

/// What the engine's server said last, if it can be asked.
fn reachable_status(context: &Context, engine: &RagEngine) -> Option<EngineStatus> {
    let report = context.engines.report(engine.metadata.uid.as_deref()?)?;
    if report.is_unreachable() { None } else { report.answer }
}

/// What the engine said last of the next generation of this index.
fn growing(context: &Context, engine: &RagEngine, index_name: &str) -> Option<GrowingGeneration> {
    reachable_status(context, engine)?.generations.into_iter().find(|generation| generation.index == index_name)
}

/// What the engine is asked: about the Job whose result is not known.
pub fn question(index: &Index, observed: &Observed, status: &IndexStatus) -> Option<Question> {
    let found = job::current(&observed.jobs, status)?;
    let has_ended = job::stage(found) != Stage::Running;
    let about = About { sync_id: job::sync_id(found).to_owned(), has_ended };
    Some(Question {
        target: observed.target.clone()?,
        index_name: index.index_name().to_owned(),
        sources: index.spec.sources.len(),
        about,
    })
}

/// The pod of a Job that runs, when it has not begun: its events are worth a request.
pub fn stuck(observed: &Observed) -> Option<&Pod> {
    let job = job::youngest(&observed.jobs).filter(|job| job::stage(job) == Stage::Running)?;
    pod::of_job(&observed.pods, job).filter(|pod| !pod::has_begun(pod))
}

fn looked_up(context: &Context, index: &Index, engine: Option<&RagEngine>) -> Vec<ObservedReference> {
    let token = engine.filter(|engine| engine.spec.auth.writes == Writes::Token);
    let token = token.map(|engine| (Referred::Secret, Identity::of(engine).write_token(), false));
    let named = references(&index.spec).into_iter().map(|(kind, name)| (kind, name, kind != Referred::Claim));
    named.chain(token).map(|(kind, name, is_watched)| look_up(context, index, kind, &name, is_watched)).collect()
}

fn look_up(context: &Context, index: &Index, kind: Referred, name: &str, is_watched: bool) -> ObservedReference {
    let (caches, namespace) = (&context.caches, index.metadata.namespace.as_deref().unwrap_or_default());
    let secret = caches.secrets.get(namespace, name).filter(|_| kind == Referred::Secret);
    let (word, version) = match kind {
        Referred::Secret => ("Secret", secret.as_ref().map(|found| version(&found.metadata))),
        Referred::ConfigMap => {
            ("ConfigMap", caches.config_map_versions.get(namespace, name).map(|found| version(&found.metadata)))
        }
        Referred::Claim => {
            ("PersistentVolumeClaim", caches.claims.get(namespace, name).map(|found| version(&found.metadata)))
        }
        Referred::Engine => ("RAGEngine", None),
    };
    // The write token is named by nobody but the operator.
    let of_source = secret.as_ref().filter(|_| is_watched).map(|found| &found.metadata);
    ObservedReference {
        what: format!("{word} {name}"),
        kind,
        version,
        name: name.to_owned(),
        refusal: of_source.and_then(secret_use::refusal).or_else(|| {
            let is_token = kind == Referred::Secret && is_watched && is_write_token(context, namespace, name);
            is_token.then_some("it contains the write token of a RAGEngine")
        }),
        hosts: of_source.and_then(secret_use::hosts),
        is_watched,
    }
}

/// Whether a Secret has the name of an engine's write token, whoever has made it.
fn is_write_token(context: &Context, namespace: &str, secret: &str) -> bool {
    let mut engines = context.engine_store.state().into_iter();
    engines.any(|engine| {
        let identity = Identity::of(&engine);
        identity.namespace == namespace && identity.write_token() == secret
    })
}

/// The oldest of the Indexes that fill the same index, when it is another one with other settings.
pub fn rival(index: &Index, all: &[Arc<Index>]) -> Option<String> {
    let place = |index: &Index| {
        let namespace = index.metadata.namespace.clone();
        (namespace, index.spec.engine_ref.name.clone(), index.index_name().to_owned())
    };
    let age = |index: &Index| (index.metadata.creation_timestamp.clone(), index.metadata.name.clone());
    let older = all.iter().filter(|other| place(other) == place(index) && age(other) < age(index));
    let oldest = older.min_by_key(|other| age(other))?;
    let settings = |index: &Index| (index.spec.chunking.clone(), index.spec.vector_index.clone());
    (settings(oldest) != settings(index)).then(|| oldest.metadata.name.clone().unwrap_or_default())
}
