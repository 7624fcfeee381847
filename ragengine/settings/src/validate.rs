use std::fmt;
use std::net::SocketAddr;

use crate::{Authority, Origin, Settings};

/// One thing that is wrong with the settings.
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

/// More threads than this are a mistake, not a machine.
const MAX_THREADS: u32 = 1024;

/// A day.
const MAX_SECONDS: u64 = 86_400;

/// More than any machine has.
const MAX_BODIES_BYTES: u64 = 1 << 40;

/// More requests than this are a mistake.
const MAX_ADMITTED: u32 = 1_000_000;

const CAN_RUN: &str = "must be between 1 and 1000000";
const CAN_WAIT: &str = "must be at most 1000000";
const IS_TIMEOUT: &str = "must be between 1 and 86400 (a day)";

/// Everything that is out of bounds or contradictory, in the order of the file.
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
            "must be another port than that of listen",
        ),
        (
            settings.allowed_hosts.iter().all(|host| is_host(host)),
            "allowedHosts",
            "must have names or addresses without scheme and port, such as docs.example or [fd00::1]",
        ),
        (
            settings.cors.allowed_origins.iter().all(|origin| Origin::parse(origin).is_some()),
            "cors.allowedOrigins",
            "must have origins such as https://chat.example or http://localhost:3000: a scheme, a host and perhaps a port, without a path; \
             one for all ('*') and null are not taken",
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
            "modelID must not be empty, queue and maxTokens at least 1, and threads at most 1024",
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
            "has an empty name: remove it, or leave the list empty to allow every model",
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
        (retrieval.tokens_per_chunk > 0, "retrieval.tokensPerChunk", "must be at least 1"),
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
        .collect()
}

fn can_run(requests: u32) -> bool {
    (1..=MAX_ADMITTED).contains(&requests)
}

fn is_timeout(seconds: u64) -> bool {
    (1..=MAX_SECONDS).contains(&seconds)
}

/// Whether both cannot be listened on.
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
mod tests {
    use crate::from_yaml;

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        for (yaml, setting) in [
            ("{listen: '127.0.0.1:5000', adminListen: '127.0.0.1:5000'}", "adminListen"),
            ("{listen: '0.0.0.0:5000', adminListen: '127.0.0.1:5000'}", "adminListen"),
            ("allowedHosts: ['docs.example:80']", "allowedHosts"),
            ("allowedHosts: ['http://docs.example']", "allowedHosts"),
            ("allowedHosts: [docs.example, '*']", "allowedHosts"),
            ("allowedHosts: ['fd00::1']", "allowedHosts"),
            ("cors: {allowedOrigins: ['*']}", "cors.allowedOrigins"),
            ("cors: {allowedOrigins: ['null']}", "cors.allowedOrigins"),
            ("cors: {allowedOrigins: [docs.example]}", "cors.allowedOrigins"),
            ("cors: {allowedOrigins: ['https://docs.example/']}", "cors.allowedOrigins"),
            ("embedding: {local: {modelID: a/b}, remote: {url: 'http://e', model: m}}", "embedding:"),
            ("embedding: {remote: {url: 'ftp://e', model: m}}", "embedding.remote.url"),
            ("embedding: {remote: {url: 'http://e', model: m, batchSize: 0}}", "embedding.remote"),
            ("inferenceService: {maxConcurrentRequests: 0}", "inferenceService"),
            ("inferenceService: {maxReplyBytes: 10}", "inferenceService.maxReplyBytes"),
            ("inferenceService: {probeSeconds: 86401}", "inferenceService.probeSeconds"),
            ("auth: {previousTokenSeconds: 86401}", "auth.previousTokenSeconds"),
            ("chat: {keepAliveSeconds: 0}", "chat.keepAliveSeconds"),
            ("embedding: {remote: {url: 'http://e', model: m, timeoutSeconds: 0}}", "embedding.remote"),
            ("embedding: {remote: {url: 'http://e', model: m, dimensions: 0}}", "embedding.remote"),
            ("embedding: {local: {queue: 0}}", "embedding.local"),
            ("embedding: {local: {threads: 5000}}", "embedding.local"),
            ("search: {threads: 5000}", "search.threads"),
            ("limits: {maxDocumentBytes: 0}", "limits.maxDocumentBytes"),
            ("limits: {cutTimeoutSeconds: 0}", "limits.cutTimeoutSeconds"),
            ("inferenceService: {url: 'localhost:8000'}", "inferenceService.url"),
            ("inferenceService: {contextWindowSize: 0}", "inferenceService.contextWindowSize"),
            ("inferenceService: {models: [m, '']}", "inferenceService.models"),
            ("inferenceService: {maxWaitingRequests: 1000001}", "inferenceService.maxWaitingRequests"),
            ("inferenceService: {queueTimeoutSeconds: 0}", "inferenceService.queueTimeoutSeconds"),
            ("inferenceService: {timeoutSeconds: 0}", "inferenceService"),
            ("retrieval: {maxDistance: 4.5}", "retrieval.maxDistance"),
            ("retrieval: {maxDistance: .nan}", "retrieval.maxDistance"),
            ("retrieval: {contextTokenRatio: 0.1}", "retrieval.contextTokenRatio"),
            ("retrieval: {minTopK: 0}", "retrieval.minTopK"),
            ("retrieval: {maxQuestionWindows: 0}", "retrieval.maxQuestionWindows"),
            ("retrieval: {maxQuestionWindows: 1025}", "retrieval.maxQuestionWindows"),
            ("retrieval: {tokensPerChunk: 0}", "retrieval.tokensPerChunk"),
            ("chunking: {maxTokens: 3}", "chunking.maxTokens"),
            ("chunking: {maxTokens: 100, overlapTokens: 100}", "chunking.overlapTokens"),
            ("search: {efSearch: 0}", "search.efSearch"),
            ("search: {nProbe: 0}", "search.nProbe"),
            ("search: {nProbe: 16385}", "search.nProbe"),
            ("limits: {maxConnections: 0}", "limits.maxConnections"),
            ("limits: {maxBodyBytes: 1}", "limits.maxBodyBytes"),
            ("limits: {maxReadBodyBytes: 1}", "limits.maxReadBodyBytes"),
            ("limits: {maxEmbeddingTokens: 0}", "limits.maxEmbeddingTokens"),
            ("limits: {bodyTimeoutSeconds: 0}", "limits.bodyTimeoutSeconds"),
            ("limits: {maxBodiesBytes: 2000}", "limits.maxBodiesBytes"),
            ("limits: {maxBodiesBytes: 2000000000000}", "limits.maxBodiesBytes"),
            ("limits: {maxRunningReads: 0}", "limits.maxRunningReads"),
            ("limits: {maxRunningChats: 0}", "limits.maxRunningChats"),
            ("limits: {maxRunningWrites: 1000001}", "limits.maxRunningWrites"),
            ("limits: {maxWaitingReads: 1000001}", "limits.maxWaitingReads"),
            ("limits: {maxWaitingChats: 1000001}", "limits.maxWaitingChats"),
            ("limits: {maxWaitingWrites: 1000001}", "limits.maxWaitingWrites"),
            ("limits: {readTimeoutSeconds: 0}", "limits.readTimeoutSeconds"),
            ("limits: {writeTimeoutSeconds: 86401}", "limits.writeTimeoutSeconds"),
            ("limits: {sendTimeoutSeconds: 0}", "limits.sendTimeoutSeconds"),
            ("limits: {maxDocuments: 0}", "limits.maxDocuments"),
            ("limits: {maxIndexes: 0}", "limits.maxIndexes"),
        ] {
            let message = from_yaml(yaml).unwrap_err().to_string();
            assert!(message.starts_with(setting), "{yaml}: {message}");
        }
    }

    #[test]
    fn who_may_reach_the_server_is_taken() {
        let settings = from_yaml(
            "{listen: '127.0.0.1:5000', adminListen: '127.0.0.2:5000', allowedHosts: [docs.example, '[fd00::1]', 10.0.0.1], \
             cors: {allowedOrigins: ['https://chat.example', 'http://localhost:3000', 'chrome-extension://abc']}}",
        );
        let settings = settings.unwrap();
        assert_eq!((settings.allowed_hosts.len(), settings.cors.allowed_origins.len()), (3, 3));
        from_yaml("{listen: '127.0.0.1:0', adminListen: '127.0.0.1:0'}").unwrap();
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let message = from_yaml("retrieval: {minTopK: 0, maxDistance: 9}").unwrap_err().to_string();
        assert_eq!(message.lines().count(), 2, "{message}");
    }
}
