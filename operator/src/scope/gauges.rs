use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::runtime::reflector::Store;
use ragengine_operator_api::{ConditionStatus, ConditionType, Index, RagEngine};

use crate::context::Context;
use crate::job::{Stage, stage};
use crate::metrics::{IndexFigures, MissedBackups};
use crate::names::{Identity, IndexIdentity};
use crate::rag_engine::missed_backups::missed;

/// Values that are counted when the metrics are requested.
pub struct Gauges {
    /// The number of resources that wait for a reconcile.
    pub waiting: usize,
    /// The number of objects by kind.
    pub objects: Vec<(&'static str, usize)>,
    /// The number of RAGEngines by readiness.
    pub ready: [(&'static str, usize); 3],
    /// The number of RAGEngines that are ready and degraded.
    pub degraded: usize,
    /// The missed backups of each RAGEngine that makes backups.
    pub missed_backups: Vec<MissedBackups>,
    /// The figures of each Index.
    pub indexes: Vec<IndexFigures>,
}

/// Counts the gauges of a scope.
pub(super) fn gauges(context: &Context) -> Gauges {
    let now = (context.clock)();
    Gauges {
        waiting: context.waiting.len(),
        objects: context.caches.counts().to_vec(),
        ready: ready(&context.engine_store),
        degraded: context.engine_store.state().iter().filter(|engine| is_degraded(engine)).count(),
        missed_backups: missed_backups(context, now),
        indexes: context.index_store.state().iter().map(|index| figures(index, context, now)).collect(),
    }
}

fn ready(engines: &Store<RagEngine>) -> [(&'static str, usize); 3] {
    let mut counts = [("true", 0), ("false", 0), ("unknown", 0)];
    for engine in engines.state() {
        let place = match condition(&engine, ConditionType::Ready) {
            Some(ConditionStatus::True) => 0,
            Some(ConditionStatus::False) => 1,
            Some(ConditionStatus::Unknown) | None => 2,
        };
        counts[place].1 += 1;
    }
    counts
}

fn condition(engine: &RagEngine, type_: ConditionType) -> Option<ConditionStatus> {
    let conditions = engine.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().find(|condition| condition.type_ == type_).map(|condition| condition.status)
}

fn is_degraded(engine: &RagEngine) -> bool {
    [ConditionType::Ready, ConditionType::Degraded]
        .iter()
        .all(|type_| condition(engine, *type_) == Some(ConditionStatus::True))
}

/// The first backup can be missed from when there is a CronJob.
fn missed_backups(context: &Context, now: Timestamp) -> Vec<MissedBackups> {
    let of = |engine: &Arc<RagEngine>| {
        let Identity { namespace, name, .. } = Identity::of(engine);
        let cron_job = context.caches.cron_jobs.get(&namespace, &Identity::of(engine).backup());
        let begun = cron_job.and_then(|cron_job| cron_job.metadata.creation_timestamp.clone());
        let begun = begun.or_else(|| engine.metadata.creation_timestamp.clone()).map_or(now, |time| time.0);
        Some(MissedBackups { count: missed(engine, begun, now)?, namespace, name })
    };
    context.engine_store.state().iter().filter_map(of).collect()
}

fn figures(index: &Arc<Index>, context: &Context, now: Timestamp) -> IndexFigures {
    let identity = IndexIdentity::of(index);
    let status = index.status.as_ref();
    let since = status.and_then(|status| status.last_success_time.as_ref());
    let since = since.or(index.metadata.creation_timestamp.as_ref());
    let jobs = context.caches.jobs_of(&identity);
    IndexFigures {
        documents: status.and_then(|status| status.documents).unwrap_or(0),
        file_errors: status.map_or(0, |status| status.sources.iter().map(|source| source.error_count).sum()),
        seconds_since_success: since.map_or(0, |since| now.as_second().saturating_sub(since.0.as_second()).max(0)),
        is_running: jobs.iter().any(|job| stage(job) == Stage::Running),
        namespace: identity.namespace,
        name: identity.name,
    }
}
