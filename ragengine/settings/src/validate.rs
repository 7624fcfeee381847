mod access;
mod answers;
mod conversations;
mod side_models;
mod stores;
mod transport;
mod vector_database;

use std::fmt;
use std::net::SocketAddr;

use ragengine_pipeline::filter::Filter;
use ragengine_pipeline::words::Words;

use crate::{Authority, FilterRule, Origin, Settings};

/// A setting that is out of bounds or contradicts another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// The setting's path in the file.
    pub setting: String,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.setting, self.message)
    }
}

/// More threads than any machine has cores.
const MAX_THREADS: u32 = 1024;

/// One day.
const MAX_SECONDS: u64 = 86_400;

/// More memory than any machine has.
const MAX_BODIES_BYTES: u64 = 1 << 40;

/// More concurrent requests than the server can hold.
const MAX_ADMITTED: u32 = 1_000_000;

/// Each is looked for in every question.
const MAX_ACRONYMS: usize = 200;
const MAX_FILTER_RULES: usize = 100;
const MAX_WORDS: usize = 100;

const CAN_RUN: &str = "must be between 1 and 1000000";
const CAN_WAIT: &str = "must be at most 1000000";
const IS_TIMEOUT: &str = "must be between 1 and 86400 (a day)";

/// Returns every setting that is out of bounds or contradicts another, in the order of the file.
pub fn validate(settings: &Settings) -> Vec<Invalid> {
    let retrieval = &settings.retrieval;
    let chunking = &settings.chunking;
    let overlap_fits = match (chunking.max_tokens, chunking.overlap_tokens) {
        (Some(max_tokens), Some(overlap_tokens)) => overlap_tokens < max_tokens,
        _ => true,
    };
    let checks = [
        (
            settings.admin_listen.is_none_or(|admin| !is_same_port(settings.listen, admin)),
            "adminListen",
            "must have a different port from listen",
        ),
        (
            settings.allowed_hosts.iter().all(|host| is_host(host)),
            "allowedHosts",
            "must list names or addresses without scheme and port, such as docs.example or [fd00::1]",
        ),
        (
            settings.cors.allowed_origins.iter().all(|origin| Origin::parse(origin).is_some()),
            "cors.allowedOrigins",
            "must list origins such as https://chat.example or http://localhost:3000: a scheme, a host and optionally \
             a port, without a path; '*' and null are not allowed",
        ),
        (
            settings.embedding.local.is_none() || settings.embedding.remote.is_none(),
            "embedding",
            "has both local and remote: keep one",
        ),
        (
            settings.embedding.remote.as_ref().is_none_or(|remote| is_http(&remote.url)),
            "embedding.remote.url",
            "must begin with http:// or https://",
        ),
        (
            settings.embedding.remote.as_ref().is_none_or(|remote| {
                remote.batch_size > 0
                    && remote.max_tokens > 0
                    && remote.timeout_seconds > 0
                    && remote.dimensions != Some(0)
            }),
            "embedding.remote",
            "batchSize, maxTokens, timeoutSeconds and dimensions must be at least 1",
        ),
        (
            settings.embedding.local.as_ref().is_none_or(|local| {
                !local.model_id.is_empty()
                    && local.queue > 0
                    && local.threads <= MAX_THREADS
                    && local.max_tokens != Some(0)
            }),
            "embedding.local",
            "modelID must not be empty, queue and maxTokens must be at least 1, and threads at most 1024",
        ),
        (
            settings.inference_service.url.as_deref().is_none_or(is_http),
            "inferenceService.url",
            "must begin with http:// or https://",
        ),
        (
            settings.inference_service.context_window_size != Some(0),
            "inferenceService.contextWindowSize",
            "must be at least 1",
        ),
        (
            settings.inference_service.models.iter().all(|model| !model.is_empty()),
            "inferenceService.models",
            "contains an empty name: remove it, or leave the list empty to allow every model",
        ),
        (
            settings.inference_service.max_waiting_requests <= MAX_ADMITTED,
            "inferenceService.maxWaitingRequests",
            CAN_WAIT,
        ),
        (
            is_timeout(settings.inference_service.queue_timeout_seconds),
            "inferenceService.queueTimeoutSeconds",
            IS_TIMEOUT,
        ),
        (
            settings.inference_service.timeout_seconds > 0
                && settings.inference_service.connect_timeout_seconds > 0
                && settings.inference_service.idle_timeout_seconds > 0
                && settings.inference_service.max_concurrent_requests > 0,
            "inferenceService",
            "timeoutSeconds, connectTimeoutSeconds, idleTimeoutSeconds and maxConcurrentRequests must be at least 1",
        ),
        (settings.inference_service.max_reply_bytes >= 1024, "inferenceService.maxReplyBytes", "must be at least 1024"),
        (
            settings.inference_service.probe_seconds <= MAX_SECONDS,
            "inferenceService.probeSeconds",
            "must be at most 86400 (a day)",
        ),
        (settings.chat.keep_alive_seconds > 0, "chat.keepAliveSeconds", "must be at least 1"),
        (
            (0.0..=4.0).contains(&retrieval.max_distance),
            "retrieval.maxDistance",
            "must be between 0 and 4 (a squared distance of normalised vectors)",
        ),
        (
            (0.2..=0.8).contains(&retrieval.context_token_ratio),
            "retrieval.contextTokenRatio",
            "must be between 0.2 and 0.8",
        ),
        ((1..=10_000).contains(&retrieval.min_top_k), "retrieval.minTopK", "must be between 1 and 10000"),
        (
            (1..=1024).contains(&retrieval.max_question_windows),
            "retrieval.maxQuestionWindows",
            "must be between 1 and 1024",
        ),
        (
            [retrieval.dense_weight, retrieval.text_weight].iter().all(|weight| (0.0..=1.0).contains(weight))
                && retrieval.dense_weight + retrieval.text_weight > 0.0,
            "retrieval.denseWeight, retrieval.textWeight",
            "must be between 0 and 1, and not both 0",
        ),
        (
            retrieval.min_similarity.is_none_or(|similarity| (0.0..=1.0).contains(&similarity)),
            "retrieval.minSimilarity",
            "must be between 0 and 1",
        ),
        ((0.0..=1.0).contains(&retrieval.mmr_lambda), "retrieval.mmrLambda", "must be between 0 and 1"),
        (
            (0.0..=1.0).contains(&retrieval.duplicate_similarity),
            "retrieval.duplicateSimilarity",
            "must be between 0 and 1",
        ),
        (retrieval.tokens_per_chunk > 0, "retrieval.tokensPerChunk", "must be at least 1"),
        (retrieval.filter_rules.len() <= MAX_FILTER_RULES, "retrieval.filterRules", "must be at most 100 rules"),
        (
            retrieval
                .filter_rules
                .iter()
                .all(|rule| rule.words.len() <= MAX_WORDS && rule.words.iter().all(|phrase| is_short(phrase))),
            "retrieval.filterRules",
            "must have at most 100 words in a rule, each of 1 to 200 bytes",
        ),
        (settings.rewrite.acronyms.len() <= MAX_ACRONYMS, "rewrite.acronyms", "must be at most 200 acronyms"),
        (
            settings
                .rewrite
                .acronyms
                .iter()
                .flat_map(|(acronym, expansion)| [acronym, expansion])
                .all(|text| is_short(text)),
            "rewrite.acronyms",
            "must have acronyms and expansions of 1 to 200 bytes",
        ),
        (chunking.max_tokens.is_none_or(|tokens| tokens >= 16), "chunking.maxTokens", "must be at least 16 tokens"),
        (overlap_fits, "chunking.overlapTokens", "must be less than chunking.maxTokens"),
        (settings.search.threads <= MAX_THREADS, "search.threads", "must be at most 1024"),
        ((1..=65_536).contains(&settings.search.ef_search), "search.efSearch", "must be between 1 and 65536"),
        (
            settings.search.n_probe.is_none_or(|lists| (1..=16_384).contains(&lists)),
            "search.nProbe",
            "must be between 1 and 16384",
        ),
        (
            settings.auth.previous_token_seconds <= MAX_SECONDS,
            "auth.previousTokenSeconds",
            "must be at most 86400 (a day)",
        ),
        (settings.limits.max_connections > 0, "limits.maxConnections", "must be at least 1"),
        (settings.limits.max_body_bytes >= 1024, "limits.maxBodyBytes", "must be at least 1024"),
        (settings.limits.max_read_body_bytes >= 1024, "limits.maxReadBodyBytes", "must be at least 1024"),
        (settings.limits.max_embedding_tokens >= 1, "limits.maxEmbeddingTokens", "must be at least 1"),
        (
            (settings.limits.max_body_bytes..=MAX_BODIES_BYTES).contains(&settings.limits.max_bodies_bytes),
            "limits.maxBodiesBytes",
            "must be at least limits.maxBodyBytes, and at most 1099511627776 (1 TiB)",
        ),
        (can_run(settings.limits.max_running_reads), "limits.maxRunningReads", CAN_RUN),
        (can_run(settings.limits.max_running_chats), "limits.maxRunningChats", CAN_RUN),
        (can_run(settings.limits.max_running_writes), "limits.maxRunningWrites", CAN_RUN),
        (settings.limits.max_waiting_reads <= MAX_ADMITTED, "limits.maxWaitingReads", CAN_WAIT),
        (settings.limits.max_waiting_chats <= MAX_ADMITTED, "limits.maxWaitingChats", CAN_WAIT),
        (settings.limits.max_waiting_writes <= MAX_ADMITTED, "limits.maxWaitingWrites", CAN_WAIT),
        (is_timeout(settings.limits.read_timeout_seconds), "limits.readTimeoutSeconds", IS_TIMEOUT),
        (is_timeout(settings.limits.write_timeout_seconds), "limits.writeTimeoutSeconds", IS_TIMEOUT),
        (is_timeout(settings.limits.send_timeout_seconds), "limits.sendTimeoutSeconds", IS_TIMEOUT),
        (settings.limits.body_timeout_seconds > 0, "limits.bodyTimeoutSeconds", "must be at least 1"),
        (settings.limits.max_documents > 0, "limits.maxDocuments", "must be at least 1"),
        (settings.limits.max_document_bytes > 0, "limits.maxDocumentBytes", "must be at least 1"),
        (is_timeout(settings.limits.cut_timeout_seconds), "limits.cutTimeoutSeconds", IS_TIMEOUT),
        (settings.limits.max_indexes > 0, "limits.maxIndexes", "must be at least 1"),
    ];
    checks
        .into_iter()
        .filter(|(holds, ..)| !holds)
        .map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
        .chain(retrieval.filter_rules.iter().enumerate().filter_map(|(position, rule)| malformed(position, rule)))
        .chain(side_models::check(settings))
        .chain(stores::check(settings))
        .chain(conversations::check(settings))
        .chain(answers::check(settings))
        .chain(access::check(settings))
        .chain(transport::check(settings))
        .chain(vector_database::check(settings))
        .collect()
}

/// What is wrong with a filter rule.
fn malformed(position: usize, rule: &FilterRule) -> Option<Invalid> {
    let setting = format!("retrieval.filterRules[{position}]");
    if rule.words.iter().any(|phrase| Words::of(phrase).is_empty()) {
        return Some(Invalid { setting, message: "every word must have a letter or a digit".to_owned() });
    }
    let error = Filter::new(&rule.filter).err()?;
    Some(Invalid { setting, message: error.to_string() })
}

fn can_run(requests: u32) -> bool {
    (1..=MAX_ADMITTED).contains(&requests)
}

fn is_timeout(seconds: u64) -> bool {
    (1..=MAX_SECONDS).contains(&seconds)
}

/// Whether a text that is set by hand is neither empty nor very long.
fn is_short(text: &str) -> bool {
    (1..=200).contains(&text.len())
}

/// Whether listening on both addresses would fail.
fn is_same_port(one: SocketAddr, other: SocketAddr) -> bool {
    let is_same_address = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && is_same_address
}

fn is_host(text: &str) -> bool {
    Authority::parse(text).is_some_and(|authority| authority.port.is_none()) && !text.ends_with(':')
}

fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

#[cfg(test)]
mod tests;
