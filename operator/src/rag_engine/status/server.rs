use ragengine_client::wire::{Problem, ProblemKind};
use ragengine_operator_api::{GUARDRAILS_POLICY, RagEngine, Reason, Volume};

use crate::finding::{Finding, quoted, unended};
use crate::names::Identity;
use crate::rag_engine::observe::Observed;

/// The maximum length of a text from the server, in characters.
const MAX_WORDS: usize = 200;

/// The problem that the server reports.
pub(super) fn problem(engine: &RagEngine, observed: &Observed) -> Option<Finding> {
    observed.answer()?.problems.iter().find_map(|problem| finding(engine, problem))
}

fn finding(engine: &RagEngine, problem: &Problem) -> Option<Finding> {
    // A custom image can send any text.
    let detail = quoted(&problem.detail, MAX_WORDS);
    let detail = unended(&detail);
    let log = format!("See kubectl logs deployment/{}", Identity::of(engine).name);
    let (reason, message) = match problem.kind {
        ProblemKind::LoadingIndexes | ProblemKind::LoadingModel | ProblemKind::Other => return None,
        ProblemKind::IndexesFailed if engine.spec.is_external() => (
            Reason::IndexesFailed,
            format!(
                "the indexes in the vector database cannot be used: {detail}. The server tries again. \
                 Check storage.vectorDB.url and postgres.url, and the keys in the Secrets of their accessSecret"
            ),
        ),
        ProblemKind::IndexesFailed => {
            (Reason::IndexesFailed, format!("the indexes cannot be loaded: {detail}. The server tries again. {log}"))
        }
        ProblemKind::IndexUnavailable => (
            Reason::IndexesFailed,
            format!("some indexes cannot be used: {detail}. The other indexes are served. {log}"),
        ),
        // The server's words say the same, and do not know the volume.
        ProblemKind::VolumeFull => (Reason::VolumeFull, full_volume(engine)),
        ProblemKind::VolumeFailed => (
            Reason::VolumeFailed,
            format!(
                "the server cannot use its volume: {detail}. \
                 Check that the volume is writable and belongs to the pod's fsGroup"
            ),
        ),
        ProblemKind::EmbeddingModelFailed => (
            Reason::EmbeddingModelFailed,
            format!(
                "the embedding model cannot be used: {detail}. \
                 Check embedding.local.modelID, and that the pod reaches embedding.local.hubUrl"
            ),
        ),
        ProblemKind::EmbeddingServiceFailed => (
            Reason::EmbeddingServiceFailed,
            format!(
                "the embedding endpoint cannot be used: {detail}. \
                 Check embedding.remote.url, and the key in the Secret of embedding.remote.accessSecret"
            ),
        ),
        ProblemKind::InferenceServiceFailed => (
            Reason::InferenceServiceFailed,
            format!(
                "the language model cannot be used: {detail}. \
                 Check inferenceService.url, and the key in the Secret of inferenceService.accessSecret. \
                 Until then chats may fail, and retrieval still works"
            ),
        ),
        ProblemKind::PostgresFailed => (
            Reason::PostgresFailed,
            format!(
                "the PostgreSQL database cannot be used: {detail}. \
                 Check postgres.url, and the key in the Secret of postgres.accessSecret. \
                 Until then questions are answered without what is stored there, or get a 503 if sessions.whenDown is \
                 refuse"
            ),
        ),
        ProblemKind::RedisFailed => (
            Reason::RedisFailed,
            format!(
                "Redis cannot be used: {detail}. \
                 Check redis.url, and the key in the Secret of redis.accessSecret. \
                 Until then questions are answered without what is stored there, or get a 503 if sessions.whenDown is \
                 refuse"
            ),
        ),
        ProblemKind::RerankerFailed => (
            Reason::RerankerFailed,
            format!(
                "the local reranker cannot be used: {detail}. \
                 Check rerank.local.modelID, and that the pod reaches rerank.local.hubUrl. \
                 Until then chunks stay in the order of the search"
            ),
        ),
        ProblemKind::EventsFailed => (
            Reason::EventsFailed,
            format!(
                "RabbitMQ cannot be used: {detail}. \
                 Check events.url, and the key in the Secret of events.accessSecret. \
                 Until then questions are answered, and only the newest events are kept"
            ),
        ),
        ProblemKind::GuardrailsFailed => (
            Reason::GuardrailsFailed,
            format!(
                "the guardrails policy cannot be used: {detail}. \
                 Correct the key {GUARDRAILS_POLICY} of the ConfigMap of guardrails.configMapRef. \
                 Until then chats get a 503"
            ),
        ),
        ProblemKind::AuthFailed => (
            Reason::AuthFailed,
            format!(
                "the keys of callers, their sessions or the rules of indexes cannot be read: {detail}. \
                 Check auth.jwt, the Secret of auth.apiKeysSecret and redis.url. \
                 Until then some callers may be refused"
            ),
        ),
    };
    Some(Finding::new(reason, message))
}

/// What to do about a full volume depends on where it is from.
fn full_volume(engine: &RagEngine) -> String {
    let storage = engine.spec.storage.as_ref();
    let room = match storage.map_or(Volume::Ephemeral, |storage| storage.volume()) {
        Volume::Provisioned { .. } => "or raise storage.persistentVolume.size".to_owned(),
        Volume::Existing { claim, .. } => format!("or enlarge PersistentVolumeClaim {claim}"),
        Volume::Ephemeral => "or free space on the node, because the engine has no storage.persistentVolume".to_owned(),
    };
    format!("the volume is full, and documents cannot be added: delete documents, {room}")
}

/// The finding that the operator cannot reach a running server. Other clients may still reach it.
pub(super) fn unreachable(observed: &Observed) -> Option<Finding> {
    let report = observed.current_report()?;
    let reason = report.error.as_ref().filter(|_| report.is_unreachable())?;
    Some(Finding::new(
        Reason::ServerUnreachable,
        format!(
            "the operator cannot reach the server ({reason}), so the reported indexes may be out of date: \
             check that NetworkPolicies allow traffic from the operator to the server"
        ),
    ))
}
