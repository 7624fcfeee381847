//! All cases of an Index status, each with a name.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_client::wire::{FileError, GrowingGeneration, SourceDescription, SourceSync, SyncPhase};
use ragengine_operator::apply::Refused;
use ragengine_operator::index::desired_revision::desired_revision;
use ragengine_operator::index::observe::{Observed, ObservedReference};
use ragengine_operator::index::plan::{self, Plan, Step, plan};
use ragengine_operator::index::settle::{new_result, settle};
use ragengine_operator::index::status::{self, status};
use ragengine_operator::index::validate::validate;
use ragengine_operator::records::{About, Record};
use ragengine_operator::watches::Referred;
use ragengine_operator_api::{AuthMode, Index, IndexStatus, LastSync, PAUSED_ANNOTATION, RagEngine, SyncResult};
use serde_json::json;

use super::fixture::{any_address, cached_engine, engine_status, index, job, job_after, nine};

/// The inputs of a status.
#[derive(Clone)]
pub struct Case {
    pub index: Index,
    pub observed: Observed,
    pub status: IndexStatus,
    pub refused: Option<Refused>,
}

impl Case {
    /// A new Index with this spec, on an engine that serves.
    pub fn new(spec: &str) -> Self {
        let observed = Observed { engine: Some(cached_engine("{}")), ..Observed::default() };
        Self { index: index(spec), observed, status: IndexStatus::default(), refused: None }
    }

    /// The plan and the status that a reconcile computes.
    pub fn reconciled(&self) -> (Plan, IndexStatus) {
        let validated = validate(&self.index, &any_address(), nine());
        let time = Time(nine());
        let settled = settle(&self.index, &self.observed, &self.status, &time);
        let input = plan::PlanInput {
            index: &self.index,
            validated: validated.as_ref(),
            observed: &self.observed,
            status: &settled,
            now: nine(),
        };
        let plan = plan(input);
        let refused = self.refused.as_ref();
        let input = status::StatusInput {
            index: &self.index,
            observed: &self.observed,
            plan: &plan,
            settled: &settled,
            refused,
        };
        let status = status(input, &time);
        (plan, status)
    }

    /// The next step of a reconcile, and whether a Job has just got a result.
    pub fn next(&self) -> (Step, bool) {
        let validated = validate(&self.index, &any_address(), nine());
        let settled = settle(&self.index, &self.observed, &self.status, &Time(nine()));
        let (index, observed) = (&self.index, &self.observed);
        let input = plan::PlanInput { index, validated: validated.as_ref(), observed, status: &settled, now: nine() };
        let new_result = new_result(&self.status, &settled);
        (plan::next(input, new_result).step, new_result.is_some())
    }

    /// The desired revision of this Index.
    pub fn desired_revision(&self) -> ragengine_operator::index::desired_revision::DesiredRevision {
        let validated = validate(&self.index, &any_address(), nine()).unwrap();
        desired_revision(&self.index, &validated, &self.observed.references, "data-1", nine())
    }

    fn engine(mut self, edit: impl FnOnce(&mut RagEngine)) -> Self {
        edit(Arc::make_mut(self.observed.engine.as_mut().unwrap()));
        self
    }

    fn engine_is(self, ready: &str, reason: &str, data_id: &str) -> Self {
        self.engine(|engine| engine.status = serde_json::from_value(engine_status(ready, reason, data_id)).unwrap())
    }

    fn missing(mut self, kind: Referred, what: &str) -> Self {
        let what = what.to_owned();
        let name = what.split(' ').next_back().unwrap().to_owned();
        let (refusal, hosts) = (None, None);
        self.observed.references.push(ObservedReference {
            what,
            kind,
            version: None,
            name,
            refusal,
            hosts,
            is_watched: true,
        });
        self
    }

    /// Adds an existing Secret.
    pub fn secret(mut self, refusal: Option<&'static str>) -> Self {
        self = self.missing(Referred::Secret, "Secret git");
        let secret = self.observed.references.last_mut().unwrap();
        (secret.version, secret.refusal) = (Some("1".to_owned()), refusal);
        self
    }

    /// Sets this result for the last synchronisation, of the current desired revision.
    pub fn last(mut self, result: SyncResult, message: Option<&str>) -> Self {
        let desired_revision = self.desired_revision();
        self.status.last_sync = Some(LastSync {
            id: "sync-0".to_owned(),
            wanted: desired_revision.wanted,
            specification: desired_revision.specification,
            started_at: Time("2026-11-22T08:00:00Z".parse().unwrap()),
            finished_at: Time("2026-11-22T08:59:55Z".parse().unwrap()),
            result,
            message: message.map(str::to_owned),
            confirmation: None,
        });
        self.status.data_id = Some("data-1".to_owned());
        self.status.documents = Some(7);
        self.status.attempts = u32::from(result != SyncResult::Succeeded);
        self
    }

    fn job(mut self, wanted: &str, condition: Option<&str>) -> Self {
        self.observed.jobs = vec![job(wanted, condition)];
        self
    }

    fn pod(mut self, status: serde_json::Value) -> Self {
        let metadata = json!({
            "name": "handbook-sync-1-x", "uid": "uid-of-the-pod", "namespace": "tests",
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "handbook-sync-1", "uid": "uid-of-the-job"},
            ],
        });
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap();
        self.observed.pods = vec![Arc::new(pod)];
        self
    }

    /// Sets the engine's record of the Job.
    pub fn record(mut self, has_ended: bool, sources: Vec<SourceDescription>) -> Self {
        let about = About { sync_id: "sync-1".to_owned(), has_ended };
        self.observed.record = Some(Record { about, sources: Some(sources), failures: 0 });
        self
    }

    fn held(mut self) -> Self {
        self.index.metadata.finalizers = Some(vec!["ragengine.dev/index".to_owned()]);
        self
    }

    fn paused(mut self) -> Self {
        self.index.metadata.annotations = Some([(PAUSED_ANNOTATION.to_owned(), "true".to_owned())].into());
        self.status.observed_generation = Some(1);
        self
    }

    fn deleted(mut self) -> Self {
        self.index.metadata.deletion_timestamp = Some(Time(nine()));
        self
    }
}

/// The engine's report on the source `notes`.
pub fn source(phase: SyncPhase, edit: impl FnOnce(&mut SourceSync)) -> SourceDescription {
    let mut sync = SourceSync {
        sync_id: "sync-1".to_owned(),
        phase,
        owner: None,
        revision: Some("0123456789abcdef0123".to_owned()),
        done: 10,
        total: 10,
        held_back: 0,
        confirmation: None,
        error_count: 0,
        errors: Vec::new(),
        message: None,
        started_at: "2026-11-22T09:00:03Z".to_owned(),
        finished_at: Some("2026-11-22T09:00:08.123Z".to_owned()),
    };
    edit(&mut sync);
    SourceDescription { name: "notes".to_owned(), documents: 9, chunks: 30, bytes: 4096, sync: Some(sync) }
}

fn hold_back(sync: &mut SourceSync) {
    sync.held_back = 6;
    sync.confirmation = Some("notes@0123456789ab".to_owned());
}

/// The engine's report on a source that is no longer in the spec.
fn removed(confirmation: Option<&str>) -> SourceDescription {
    let sync = source(SyncPhase::Complete, |sync| {
        sync.held_back = 9;
        sync.confirmation = confirmation.map(str::to_owned);
        let then = match confirmation {
            None => ": its documents are deleted once every other source was read without an error",
            Some(_) => ", and its deletion would delete more than half of the documents of all sources",
        };
        sync.message = Some(format!("the source was removed{then}"));
    });
    SourceDescription { name: "old".to_owned(), ..sync }
}

/// The engine is rebuilding the index.
fn rebuilding(mut case: Case, error: Option<&str>) -> Case {
    let error = error.map(str::to_owned);
    case.observed.generation =
        Some(GrowingGeneration { index: "handbook".to_owned(), documents: 30, total: 70, error });
    case
}

/// A synchronised Index with rules that its engine's server enforces.
fn with_rules() -> Case {
    let case = Case::new("access: {read: ['user:ann']}").engine(|engine| engine.spec.auth.modes = vec![AuthMode::Jwt]);
    case.last(SyncResult::Succeeded, None)
}

fn waiting(reason: &str) -> serde_json::Value {
    json!({"phase": "Pending", "containerStatuses": [{
        "name": "ragengine", "image": "ragengine:0.1.0", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": reason, "message": "no such thing"}},
    }]})
}

fn terminated(reason: &str, message: &str) -> serde_json::Value {
    json!({"phase": "Failed", "containerStatuses": [{
        "name": "ragengine", "image": "ragengine:0.1.0", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": 1, "reason": reason, "message": message}},
    }]})
}

fn bad(sync: &mut SourceSync) {
    sync.error_count = 2;
    sync.errors = vec![FileError { path: "a.pdf".to_owned(), message: "it is no PDF".to_owned() }];
}

/// The cases by name. The names are in the snapshot.
pub fn cases() -> Vec<(&'static str, Case)> {
    let new = || Case::new("{}");
    let synced = || new().last(SyncResult::Succeeded, None);
    let failed = || new().last(SyncResult::Failed, Some("source notes: 401 Unauthorized"));
    let wanted = new().desired_revision().wanted;
    let running = || new().job(&wanted, None);
    let complete = || new().job(&wanted, Some("Complete"));
    vec![
        ("a new Index", new()),
        ("an Index with an earlier version's finalizer", new().held()),
        ("a new Job", {
            let mut case = new();
            case.observed.is_lagging = true;
            case
        }),
        ("a running Job", running()),
        (
            "a running Job with progress",
            running().record(false, vec![source(SyncPhase::Running, |sync| sync.done = 3)]),
        ),
        (
            "a running Job that has not counted its files",
            running().record(false, vec![source(SyncPhase::Running, |sync| (sync.done, sync.total) = (0, 0))]),
        ),
        (
            "a running Job and an older record",
            running().record(false, vec![source(SyncPhase::Complete, |sync| sync.sync_id = "sync-0".to_owned())]),
        ),
        ("a Job whose image cannot be pulled", running().pod(waiting("ErrImagePull"))),
        (
            "a Job whose image cannot be pulled, after a change of the Index",
            new().job("old", None).pod(waiting("CreateContainerConfigError")),
        ),
        ("an Index with new chunking, whose Job is unschedulable", {
            let mut case = synced();
            case.index.spec.chunking = serde_json::from_value(json!({"maxTokens": 32})).unwrap();
            let wanted = case.desired_revision().wanted;
            case.observed.jobs = vec![job_after(Some("sync-0"), &wanted, None)];
            case.pod(json!({"phase": "Pending", "conditions": [{
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "1 Insufficient cpu",
            }]}))
        }),
        ("a complete Job, before the engine's report", complete()),
        (
            "a complete Job, with a report from before its end",
            complete().record(false, vec![source(SyncPhase::Complete, |_| {})]),
        ),
        ("a complete Job", complete().record(true, vec![source(SyncPhase::Complete, |_| {})])),
        (
            "a complete Job, and a restarted engine",
            complete().record(true, vec![source(SyncPhase::Complete, |sync| sync.sync_id = "sync-0".to_owned())]),
        ),
        ("a complete Job that skipped some files", complete().record(true, vec![source(SyncPhase::Complete, bad)])),
        ("a Job whose deletions are held back", complete().record(true, vec![source(SyncPhase::Complete, hold_back)])),
        (
            "a renamed source, and another that cannot be read",
            complete().record(true, vec![source(SyncPhase::Complete, bad), removed(None)]),
        ),
        (
            "a removed source that had most documents",
            complete().record(true, vec![source(SyncPhase::Complete, |_| {}), removed(Some("old@0123456789ab"))]),
        ),
        (
            "a source that cannot be read",
            new()
                .job(&wanted, Some("Failed"))
                .record(true, vec![source(SyncPhase::Failed, |sync| sync.message = Some("404 Not Found".to_owned()))]),
        ),
        ("a killed Job", new().job(&wanted, Some("Failed")).record(true, vec![source(SyncPhase::Running, |_| {})])),
        (
            "a Job that failed before its task started",
            new()
                .job(&wanted, Some("Failed"))
                .pod(terminated("Error", "the task cannot be read"))
                .record(true, Vec::new()),
        ),
        (
            "a Job that failed after its sources were read",
            new()
                .job(&wanted, Some("Failed"))
                .pod(terminated("OOMKilled", ""))
                .record(true, vec![source(SyncPhase::Complete, |_| {})]),
        ),
        ("a failed Job, and a missing engine", new().job(&wanted, Some("Failed"))),
        ("a synchronised Index", synced()),
        ("a synchronised Index with skipped files", {
            let mut case = synced();
            case.status.sources = serde_json::from_value(json!([
                {"name": "notes", "errorCount": 1, "errors": [{"path": "a.pdf", "message": "it is no PDF"}]},
            ]))
            .unwrap();
            case
        }),
        ("a synchronised Index with a skipped file in its second source", {
            let mut case = synced();
            case.status.sources = serde_json::from_value(json!([
                {"name": "faq", "errorCount": 0},
                {"name": "notes", "errorCount": 1, "errors": [{"path": "a.pdf", "message": "it is no PDF"}]},
            ]))
            .unwrap();
            case
        }),
        ("a recent failure", failed()),
        ("a failure whose back-off is over", {
            let mut case = failed();
            case.status.last_sync.as_mut().unwrap().finished_at = Time("2026-11-22T08:59:00Z".parse().unwrap());
            case
        }),
        (
            "an Index with held-back deletions",
            new().last(SyncResult::HeldBack, Some("source notes would lose 6 documents")),
        ),
        ("suspended and synchronised", {
            let mut case = synced();
            case.index.spec.suspend = true;
            case
        }),
        ("suspended and new", Case::new("suspend: true")),
        ("paused and synchronised", synced().paused()),
        ("paused and new", new().paused()),
        ("paused while a Job runs", running().paused()),
        ("paused after a failure", failed().paused()),
        ("paused with changed sources", {
            let mut case = synced().paused();
            case.index.spec.sources[0].include = vec!["*.md".to_owned()];
            case.index.metadata.generation = Some(2);
            case
        }),
        ("paused while its engine starts", synced().engine_is("False", "Starting", "data-1").paused()),
        ("paused, with an earlier version's finalizer", synced().held().paused()),
        ("changed sources", {
            let mut case = synced();
            case.index.spec.sources[0].include = vec!["*.md".to_owned()];
            case
        }),
        ("a due schedule", {
            let mut case = Case::new("schedule: '0 * * * *'").last(SyncResult::Succeeded, None);
            case.status.last_sync.as_mut().unwrap().wanted = "the turn before".to_owned();
            case
        }),
        ("an engine with another data directory", synced().engine_is("True", "Serving", "data-2")),
        ("a missing engine", {
            let mut case = synced();
            case.observed.engine = None;
            case
        }),
        (
            "an engine that is being deleted",
            synced().engine(|engine| engine.metadata.deletion_timestamp = Some(Time(nine()))),
        ),
        ("an engine that starts", synced().engine_is("False", "Starting", "data-1")),
        ("an engine without a report", new().engine(|engine| engine.status = None)),
        ("an engine that is stopped", synced().engine_is("True", "Stopped", "data-1")),
        (
            "an engine without a data directory yet",
            new().engine(|engine| engine.status.as_mut().unwrap().data_id = None),
        ),
        ("an engine without its language model", synced().engine_is("False", "InferenceServiceFailed", "data-1")),
        ("an engine without its database", synced().engine_is("False", "PostgresFailed", "data-1")),
        ("an engine without Redis", synced().engine_is("False", "RedisFailed", "data-1")),
        ("an engine without its reranker", synced().engine_is("False", "RerankerFailed", "data-1")),
        ("an engine without RabbitMQ", synced().engine_is("False", "EventsFailed", "data-1")),
        ("an engine without its policy", synced().engine_is("False", "GuardrailsFailed", "data-1")),
        ("rules that have no effect", Case::new("access: {read: ['user:ann']}").last(SyncResult::Succeeded, None)),
        ("rules that the server has", with_rules()),
        ("rules beside documents of a deleted Index", {
            let mut case = with_rules();
            case.observed.has_left_behind = true;
            case
        }),
        ("an invalid rule", Case::new("access: {read: [staff]}")),
        ("an invalid specification", Case::new("schedule: 61 * * * *")),
        ("the API server refuses an object", {
            let mut case = new();
            case.refused = Some(Refused::by_api_server("Job handbook-sync-1", "exceeded quota"));
            case
        }),
        ("a missing Secret", synced().missing(Referred::Secret, "Secret git")),
        ("a missing ConfigMap", new().missing(Referred::ConfigMap, "ConfigMap faq")),
        (
            "missing claims",
            new()
                .missing(Referred::Claim, "PersistentVolumeClaim a")
                .missing(Referred::Claim, "PersistentVolumeClaim b"),
        ),
        ("changed settings", {
            let mut case = synced();
            case.index.spec.vector_index = Some("SQ8".to_owned());
            case
        }),
        ("an Index that the engine rebuilds", rebuilding(synced(), None)),
        ("a rebuild that makes no progress", rebuilding(synced(), Some("the embedding endpoint does not answer"))),
        ("a rebuild while a Job runs", rebuilding(running(), None)),
        ("a rebuild of a suspended Index", {
            let mut case = rebuilding(synced(), None);
            case.index.spec.suspend = true;
            case
        }),
        ("a rebuild of a deleted Index", rebuilding(synced(), None).deleted()),
        ("an older Index with other settings", {
            let mut case = new();
            case.observed.rival = Some("older".to_owned());
            case
        }),
        ("a deleted Index", synced().deleted()),
        ("a deleted Index while a Job runs", running().deleted()),
        ("a deleted Index with an earlier version's finalizer", synced().held().deleted()),
        ("a Secret that may not be used", new().secret(Some("it contains the token of a ServiceAccount"))),
        ("a Secret without its hosts", {
            let mut case = new().secret(None);
            case.observed.hosts_are_required = true;
            case
        }),
        ("the limit of running Jobs is reached", {
            let mut case = new();
            case.observed.is_crowded = true;
            case
        }),
        ("the limit is reached, and a synchronisation is requested", {
            let mut case = synced();
            case.index.metadata.annotations = Some([("ragengine.dev/sync".to_owned(), "2".to_owned())].into());
            case.observed.is_crowded = true;
            case
        }),
        ("the limit is reached, and the Index is paused", {
            let mut case = new().paused();
            case.observed.is_crowded = true;
            case
        }),
        ("the NetworkPolicy of its Jobs does not exist", {
            let mut case = new();
            case.observed.is_unbounded = true;
            case
        }),
        ("documents of a deleted Index of the same name remain", {
            let mut case = new();
            case.observed.is_cleared = true;
            case
        }),
    ]
}
