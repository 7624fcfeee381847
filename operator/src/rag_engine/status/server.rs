use ragengine_client::wire::{Problem, ProblemKind};
use ragengine_operator_api::{GUARDRAILS_POLICY, RagEngine, Reason};

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
        ProblemKind::IndexesFailed => (Reason::IndexesFailed, format!("the indexes cannot be used: {detail}. {log}")),
        ProblemKind::IndexUnavailable => {
            (Reason::IndexesFailed, format!("some indexes cannot be used, the others are served: {detail}. {log}"))
        }
        ProblemKind::VolumeFull => (
            Reason::VolumeFull,
            format!("the volume is full: raise storage.persistentVolume.size, or delete documents ({detail})"),
        ),
        ProblemKind::VolumeFailed => (
            Reason::VolumeFailed,
            format!(
                "the volume cannot be written to: {detail}. \
                 Check that it is writable and belongs to the pod's fsGroup"
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
                "the language model cannot be used, retrieval still works: {detail}. \
                 Check inferenceService.url, and the key in the Secret of inferenceService.accessSecret"
            ),
        ),
        ProblemKind::PostgresFailed => (
            Reason::PostgresFailed,
            format!(
                "the PostgreSQL database cannot be used, questions are still answered: {detail}. \
                 Check postgres.url, and the key in the Secret of postgres.accessSecret"
            ),
        ),
        ProblemKind::RedisFailed => (
            Reason::RedisFailed,
            format!(
                "Redis cannot be used, questions are still answered: {detail}. \
                 Check redis.url, and the key in the Secret of redis.accessSecret"
            ),
        ),
        ProblemKind::RerankerFailed => (
            Reason::RerankerFailed,
            format!(
                "the local reranker cannot be used, chunks stay in the order of the search: {detail}. \
                 Check rerank.local.modelID, and that the pod reaches rerank.local.hubUrl"
            ),
        ),
        ProblemKind::EventsFailed => (
            Reason::EventsFailed,
            format!(
                "RabbitMQ cannot be used, questions are still answered and the oldest events may be lost: {detail}. \
                 Check events.url, and the key in the Secret of events.accessSecret"
            ),
        ),
        ProblemKind::GuardrailsFailed => (
            Reason::GuardrailsFailed,
            format!(
                "the policy of guardrails cannot be used, chats get a 503 unless an earlier policy holds: {detail}. \
                 Check the key {GUARDRAILS_POLICY} of the ConfigMap of guardrails.configMapRef"
            ),
        ),
        ProblemKind::AuthFailed => (
            Reason::AuthFailed,
            format!(
                "some callers cannot prove who they are, or the rules of indexes cannot be read: {detail}. \
                 Check auth.jwt, the Secret of auth.apiKeysSecret and redis.url"
            ),
        ),
    };
    Some(Finding::new(reason, message))
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
