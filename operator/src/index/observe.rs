//! Reads the existing objects from the watch caches, and the events of a pod that is stuck.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::ObjectRef;
use ragengine_client::wire::{EngineStatus, GrowingGeneration};
use ragengine_operator_api::{Index, IndexSpec, IndexStatus, RagEngine, Writes};
use serde::Serialize;

use super::validate::references;
use crate::access_rules::{age, normalised};
use crate::context::Context;
use crate::deleted_index;
use crate::engine::Target;
use crate::job::{self, Stage};
use crate::names::{Identity, IndexIdentity};
use crate::pod;
use crate::rag_engine::settings::has_modes;
use crate::records::{About, Question, Record};
use crate::secret_use;
use crate::warnings::{self, Warning};
use crate::watches::{Caches, Referred, version};

/// Everything that a reconcile reads.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The RAGEngine that the Index refers to.
    pub engine: Option<Arc<RagEngine>>,
    /// The address of its server.
    pub target: Option<Target>,
    /// Whether the last status report of the server says ready: it then accepts documents and deletions.
    pub server_is_ready: bool,
    /// The objects that the specification refers to, the write token and the certificates of the server.
    pub references: Vec<ObservedReference>,
    /// The Jobs of this Index.
    pub jobs: Vec<Arc<Job>>,
    /// Whether a Job was just created that the cache does not show yet.
    pub is_lagging: bool,
    /// The pods of these Jobs.
    pub pods: Vec<Arc<Pod>>,
    /// Warning events about a pod that is stuck.
    pub warnings: Vec<Warning>,
    /// The last answer of the engine about the current synchronisation.
    pub record: Option<Record>,
    /// The scope under which the engine records the Index as the owner of its documents: the uid of the volume.
    pub scope: String,
    /// The addresses of the API server behind its Service.
    pub api_server: Vec<IpAddr>,
    /// Whether documents of a deleted Index of the same name are being removed.
    pub is_cleared: bool,
    /// Whether the index still has documents of a deleted Index: `access` then only narrows the engine's default.
    pub has_left_behind: bool,
    /// Whether Secrets of sources must name the hosts that they may be sent to.
    pub hosts_are_required: bool,
    /// Whether the limit of concurrent Jobs is reached.
    pub is_crowded: bool,
    /// The next generation of the index, while the engine builds it.
    pub generation: Option<GrowingGeneration>,
    /// Whether the NetworkPolicy of the engine's Jobs is requested and does not exist yet.
    pub is_unbounded: bool,
    /// The name of an older Index that fills the same index with other settings.
    pub rival: Option<String>,
}

/// An object that the specification refers to, and its current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservedReference {
    /// Kind and name as text: `Secret git`.
    pub what: String,
    /// Its kind.
    #[serde(skip)]
    pub kind: Referred,
    /// Its version. `None`: it does not exist.
    pub version: Option<String>,
    /// Its name.
    #[serde(skip)]
    pub name: String,
    /// For a Secret of a source: why it must not be used, if so.
    #[serde(skip)]
    pub refusal: Option<&'static str>,
    /// For a Secret: the only hosts it may be sent to, if it names any.
    #[serde(skip)]
    pub hosts: Option<Vec<String>>,
    /// Whether a new version triggers a synchronisation. Claims and the Secrets of the engine only need to exist.
    #[serde(skip)]
    pub is_watched: bool,
}

/// The objects whose changes trigger a reconcile of this Index.
pub fn referred(index: &Index, engine: Option<&RagEngine>) -> BTreeSet<(Referred, String)> {
    let name = index.spec.engine_ref.name.clone();
    let token = (Referred::Secret, format!("{name}-write"));
    let certificates = engine.and_then(certificates).map(|secret| (Referred::Secret, secret));
    let mut referred = references(&index.spec);
    referred.extend([(Referred::Engine, name), token].into_iter().chain(certificates));
    referred
}

/// The engine that an Index refers to.
pub fn engine_of(context: &Context, index: &Index) -> Option<Arc<RagEngine>> {
    let namespace = index.metadata.namespace.as_deref().unwrap_or_default();
    context.engine_store.get(&ObjectRef::new(&index.spec.engine_ref.name).within(namespace))
}

/// The Secret with the certificates of an engine's server, which Jobs mount.
fn certificates(engine: &RagEngine) -> Option<String> {
    engine.spec.tls.as_ref().map(|tls| tls.secret_name.clone())
}

/// Observes everything that belongs to an Index.
pub async fn observe(context: &Context, index: &Index) -> Observed {
    let identity = IndexIdentity::of(index);
    let caches = &context.caches;
    let namespace = identity.namespace.as_str();
    let engine = engine_of(context, index);
    let jobs = caches.jobs_of(&identity);
    let server = engine.as_deref().and_then(|engine| reachable_status(context, engine));
    let has_left_behind = engine.as_deref().zip(server.as_ref()).is_some_and(|(engine, server)| {
        deleted_index::left_behind(context, engine, server).contains(index.index_name())
    });
    let mut observed = Observed {
        target: engine.as_ref().and_then(|engine| Target::of(&caches.pods_of(&Identity::of(engine)))),
        server_is_ready: server.as_ref().is_some_and(|status| status.ready),
        generation: server.and_then(|status| growing(status, index.index_name())),
        has_left_behind,
        references: looked_up(context, index, engine.as_deref()),
        is_lagging: context.started.is_lagging(&identity.uid, &jobs),
        pods: caches.pods_of_jobs(&identity),
        warnings: Vec::new(),
        record: context.records.record(&identity.uid),
        rival: rival(index, &context.index_store.state()),
        scope: engine.as_deref().map(|engine| deleted_index::scope_of(caches, engine)).unwrap_or_default(),
        api_server: context.api_server.addresses(),
        is_cleared: deleted_index::is_cleared(context, &identity),
        hosts_are_required: context.defaults.require_secret_hosts,
        is_crowded: is_crowded(context, namespace),
        is_unbounded: engine.as_deref().is_some_and(|engine| is_unbounded(caches, engine)),
        engine,
        jobs,
    };
    if let Some(uid) = stuck(&observed).and_then(|pod| pod.metadata.uid.clone()) {
        observed.warnings = warnings::of(&context.client, namespace, &uid).await;
    }
    observed
}

/// Whether the limit of concurrent Jobs is reached, in total or in this namespace. A namespace gets at most half of the
/// slots.
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

/// The last status of the engine's server, unless the server is unreachable.
fn reachable_status(context: &Context, engine: &RagEngine) -> Option<EngineStatus> {
    let report = context.engines.report(engine.metadata.uid.as_deref()?)?;
    if report.is_unreachable() { None } else { report.answer }
}

/// The next generation of this index in the status of the engine's server.
fn growing(status: EngineStatus, index_name: &str) -> Option<GrowingGeneration> {
    status.generations.into_iter().find(|generation| generation.index == index_name)
}

/// The question to the engine about the Job whose result is not known yet.
pub fn question(index: &Index, observed: &Observed, status: &IndexStatus) -> Option<Question> {
    let found = job::current(&observed.jobs, status)?;
    let has_ended = job::stage(found) != Stage::Running;
    let about = About { sync_id: job::sync_id(found).to_owned(), has_ended };
    Some(Question {
        target: observed.target.clone()?,
        index_name: index.index_name().to_owned(),
        sources: index.spec.sources.len(),
        must_know_caller: observed.engine.as_deref().is_some_and(|engine| has_modes(&engine.spec)),
        about,
    })
}

/// The pod of the running Job, if its container has not started: its events are worth a request.
pub fn stuck(observed: &Observed) -> Option<&Pod> {
    let job = job::youngest(&observed.jobs).filter(|job| job::stage(job) == Stage::Running)?;
    pod::of_job(&observed.pods, job).filter(|pod| !pod::has_begun(pod))
}

fn looked_up(context: &Context, index: &Index, engine: Option<&RagEngine>) -> Vec<ObservedReference> {
    let token = engine.filter(|engine| engine.spec.auth.writes == Writes::Token);
    let token = token.map(|engine| (Referred::Secret, Identity::of(engine).write_token(), false));
    let certificates = engine.and_then(certificates).map(|secret| (Referred::Secret, secret, false));
    let named = references(&index.spec).into_iter().map(|(kind, name)| (kind, name, kind != Referred::Claim));
    named
        .chain(token)
        .chain(certificates)
        .map(|(kind, name, is_watched)| look_up(context, index, kind, &name, is_watched))
        .collect()
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
    // Only the engine refers to its Secrets, so the rules for the Secrets of sources do not apply to them.
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

/// Whether a Secret has the name of an engine's write token, no matter who created it.
fn is_write_token(context: &Context, namespace: &str, secret: &str) -> bool {
    let mut engines = context.engine_store.state().into_iter();
    engines.any(|engine| {
        let identity = Identity::of(&engine);
        identity.namespace == namespace && identity.write_token() == secret
    })
}

/// The name of the oldest Index that fills the same index, if its settings differ.
pub fn rival(index: &Index, all: &[Arc<Index>]) -> Option<String> {
    let place = |index: &Index| {
        let namespace = index.metadata.namespace.clone();
        (namespace, index.spec.engine_ref.name.clone(), index.index_name().to_owned())
    };
    let older = all.iter().filter(|other| place(other) == place(index) && age(other) < age(index));
    let oldest = older.min_by_key(|other| age(other))?;
    let settings = |index: &Index| {
        let IndexSpec { chunking, vector_index, access, .. } = &index.spec;
        (chunking.clone(), vector_index.clone(), normalised(access.as_ref()))
    };
    (settings(oldest) != settings(index)).then(|| oldest.metadata.name.clone().unwrap_or_default())
}
