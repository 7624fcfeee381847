//! The changes of fields.

use serde_json::{Value, json};

/// A change of one field, with its expected effects.
pub struct FieldChange {
    /// The spec before the change, in YAML.
    pub before: &'static str,
    /// The path of the field.
    pub field: &'static str,
    /// Its new value.
    pub value: Value,
    /// The objects that change. `pod` is the pod template: a change rolls the pod.
    pub objects: &'static [&'static str],
    /// The settings that change. They are in the ConfigMap, and a change also rolls the pod.
    pub settings: &'static [&'static str],
}

const WITH_MODEL: &str = "{embedding: {local: {modelID: a/b}}}";
pub const REMOTE: &str = "{embedding: {remote: {url: 'http://e/v1', model: m}}}";
const REMOTE_WITH_SECRET: &str = "{embedding: {remote: {url: 'http://e/v1', model: m, accessSecret: r}}}";
const MANAGED_CLAIM: &str = "{storage: {persistentVolume: {size: 1Gi}}}";
const EXISTING_CLAIM: &str = "{storage: {persistentVolume: {persistentVolumeClaim: c}}}";
const EXISTING_CLAIM_OLD_FIELD: &str = "{storage: {persistentVolumeClaim: c}}";
pub const RERANKER: &str = "{rerank: {backend: endpoint, url: 'http://r/rerank'}}";
const RERANKER_WITH_SECRET: &str = "{rerank: {backend: endpoint, url: 'http://r/rerank', accessSecret: r}}";
pub const LOCAL_RERANKER: &str = "{rerank: {backend: local, local: {}}}";
const LOCAL_RERANKER_WITH_SECRET: &str = "{rerank: {backend: local, local: {modelAccessSecret: r}}}";
const DATABASE: &str = "{postgres: {url: 'postgres://rag@db/rag'}}";
const DATABASE_WITH_SECRET: &str = "{postgres: {url: 'postgres://rag@db/rag', accessSecret: r}}";
const REDIS: &str = "{redis: {url: 'redis://cache'}}";
const REDIS_WITH_SECRET: &str = "{redis: {url: 'redis://cache', accessSecret: r}}";
const RABBITMQ: &str = "{events: {url: 'amqp://rabbitmq'}}";
const RABBITMQ_WITH_SECRET: &str = "{events: {url: 'amqp://rabbitmq', accessSecret: r}}";
const WITHOUT_CITATIONS: &str = "{endpoints: {chat: {citations: false}}}";
const WITH_TLS: &str = "{tls: {secretName: r}}";
const COLLECTOR: &str = "{tracing: {otlpEndpoint: 'http://c:4318'}}";
const BACKUP: &str = "{backup: {schedule: '0 1 * * *', s3: {bucket: b}}}";
const BACKUP_ON_CLAIM: &str = "{backup: {schedule: '0 1 * * *', persistentVolumeClaim: {claimName: c}}}";
const RESTORE: &str = "{bootstrap: {restore: {s3: {bucket: b}}}}";
const RESTORE_FROM_CLAIM: &str = "{bootstrap: {restore: {persistentVolumeClaim: {claimName: c}}}}";
const WITH_URL: &str = "{postgres: {url: 'postgres://rag@db/rag'}, storage: {vectorDB: {url: 'http://w'}}}";
const WEAVIATE: &str =
    "{postgres: {url: 'postgres://rag@db/rag'}, storage: {vectorDB: {engine: weaviate, url: 'http://w'}}}";
const QDRANT: &str =
    "{postgres: {url: 'postgres://rag@db/rag'}, storage: {vectorDB: {engine: qdrant, url: 'http://q'}}}";
const WEAVIATE_WITH_SECRET: &str = "{postgres: {url: 'postgres://rag@db/rag'}, \
     storage: {vectorDB: {engine: weaviate, url: 'http://w', accessSecret: r}}}";
const AUTOSCALED: &str = "{postgres: {url: 'postgres://rag@db/rag'}, autoscaling: {maxReplicas: 2}, \
     storage: {vectorDB: {engine: weaviate, url: 'http://w'}}}";
const WITH_POLICY: &str = "{guardrails: {configMapRef: {name: a}}}";
const WITH_MODE: &str = "{auth: {modes: [jwt], apiKeysSecret: k}}";
const OPEN: &str = "{allowAnonymous: true}";
const RESTRICTED: &str = "{allowAnonymous: true, allowedHosts: [a.example], ingress: {host: docs.example}}";
const WITH_INGRESS: &str = "{allowAnonymous: true, ingress: {host: docs.example}}";
const WITH_ROUTE: &str = "{allowAnonymous: true, httpRoute: {parentRefs: [{name: public}]}}";
pub const NOTHING: &str = "{}";
const DIGEST: &str = "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";

const POD: &[&str] = &["pod"];
const POD_AND_SETTINGS: &[&str] = &["pod", "settings"];
const NO_OBJECT: &[&str] = &[];
const NO_SETTING: &[&str] = &[];

fn change(
    before: &'static str,
    field: &'static str,
    value: impl Into<Value>,
    objects: &'static [&'static str],
    settings: &'static [&'static str],
) -> FieldChange {
    FieldChange { before, field, value: value.into(), objects, settings }
}

/// A field that changes settings of the server.
fn setting(
    before: &'static str,
    field: &'static str,
    value: impl Into<Value>,
    settings: &'static [&'static str],
) -> FieldChange {
    change(before, field, value, POD_AND_SETTINGS, settings)
}

/// A field that changes only the pod template.
fn pod(before: &'static str, field: &'static str, value: impl Into<Value>) -> FieldChange {
    change(before, field, value, POD, NO_SETTING)
}

#[rustfmt::skip]
pub fn changes() -> Vec<FieldChange> {
    vec![
        change(NOTHING, "replicas", 0, &["deployment"], NO_SETTING),
        change(WEAVIATE, "replicas", 3, &["deployment", "disruptionBudget"], NO_SETTING),
        change(QDRANT, "replicas", 3, &["deployment", "disruptionBudget"], NO_SETTING),
        change(AUTOSCALED, "replicas", 0, &["autoscaler", "deployment", "disruptionBudget"], NO_SETTING),
        change(AUTOSCALED, "replicas", 2, NO_OBJECT, NO_SETTING),
        change(NOTHING, "autoscaling.maxReplicas", 1, &["autoscaler", "deployment"], NO_SETTING),
        change(WEAVIATE, "autoscaling.maxReplicas", 4, &["autoscaler", "deployment", "disruptionBudget"], NO_SETTING),
        change(AUTOSCALED, "autoscaling.maxReplicas", 3, &["autoscaler"], NO_SETTING),
        change(AUTOSCALED, "autoscaling.minReplicas", 2, &["autoscaler"], NO_SETTING),
        change(AUTOSCALED, "autoscaling.targetCPUUtilizationPercentage", 60, &["autoscaler"], NO_SETTING),
        setting(NOTHING, "embedding.local.modelID", "a/b", &["embedding.local.modelID"]),
        setting(
            NOTHING,
            "embedding.local.modelFile",
            "onnx/model_int8.onnx",
            &["embedding.local.modelID", "embedding.local.modelFile"],
        ),
        setting(NOTHING, "embedding.local.revision", "v2", &["embedding.local.modelID", "embedding.local.revision"]),
        setting(WITH_MODEL, "embedding.local.revision", "v2", &["embedding.local.revision"]),
        setting(NOTHING, "embedding.local.hubUrl", "http://h", &["embedding.local.hubUrl"]),
        setting(NOTHING, "embedding.local.modelAccessSecret", "s", &["embedding.local.hubToken"]),
        pod("{embedding: {local: {modelAccessSecret: r}}}", "embedding.local.modelAccessSecret", "s"),
        change("{embedding: {local: {}}}", "embedding.local.image", "i", NO_OBJECT, NO_SETTING),
        change("{embedding: {local: {}}}", "embedding.local.imagePullSecret", "s", NO_OBJECT, NO_SETTING),
        setting(NOTHING, "embedding.local.maxTokens", 100, &["embedding.local.maxTokens"]),
        setting(NOTHING, "embedding.local.pooling", "cls", &["embedding.local.pooling"]),
        setting(NOTHING, "embedding.local.queryPrefix", "q: ", &["embedding.local.queryPrefix"]),
        setting(NOTHING, "embedding.local.queryPrefix", "", &["embedding.local.queryPrefix"]),
        setting(NOTHING, "embedding.local.passagePrefix", "p: ", &["embedding.local.passagePrefix"]),
        setting(NOTHING, "embedding.local.documentNames", true, &["embedding.local.documentNames"]),
        setting(REMOTE, "embedding.remote.url", "http://f/v1", &["embedding.remote.url"]),
        setting(REMOTE, "embedding.remote.model", "n", &["embedding.remote.model"]),
        setting(REMOTE, "embedding.remote.accessSecret", "s", &["embedding.remote.apiKey"]),
        pod(REMOTE_WITH_SECRET, "embedding.remote.accessSecret", "s"),
        setting(REMOTE, "embedding.remote.dimensions", 8, &["embedding.remote.dimensions"]),
        setting(REMOTE, "embedding.remote.maxTokens", 8, &["embedding.remote.maxTokens"]),
        setting(REMOTE, "embedding.remote.batchSize", 8, &["embedding.remote.batchSize"]),
        setting(REMOTE, "embedding.remote.timeoutSeconds", 8, &["embedding.remote.timeoutSeconds"]),
        setting(REMOTE, "embedding.remote.queryPrefix", "q: ", &["embedding.remote.queryPrefix"]),
        setting(REMOTE, "embedding.remote.passagePrefix", "p: ", &["embedding.remote.passagePrefix"]),
        setting(REMOTE, "embedding.remote.documentNames", true, &["embedding.remote.documentNames"]),
        setting(NOTHING, "inferenceService.url", "http://l/v1", &["inferenceService.url"]),
        setting(NOTHING, "inferenceService.model", "m", &["inferenceService.model"]),
        setting(NOTHING, "inferenceService.models", json!(["m", "n"]), &["inferenceService.models"]),
        setting(NOTHING, "inferenceService.accessSecret", "s", &["inferenceService.apiKey"]),
        pod("{inferenceService: {accessSecret: r}}", "inferenceService.accessSecret", "s"),
        setting(NOTHING, "inferenceService.contextWindowSize", 512, &["inferenceService.contextWindowSize"]),
        setting(NOTHING, "inferenceService.tokenizer", "/t", &["inferenceService.tokenizer"]),
        setting(NOTHING, "inferenceService.timeoutSeconds", 8, &["inferenceService.timeoutSeconds"]),
        setting(NOTHING, "inferenceService.maxConcurrentRequests", 8, &["inferenceService.maxConcurrentRequests"]),
        setting(NOTHING, "inferenceService.maxWaitingRequests", 8, &["inferenceService.maxWaitingRequests"]),
        change(NOTHING, "storage.persistentVolume.size", "1Gi", &["claim", "pod", "settings"], &["dataDir"]),
        change(MANAGED_CLAIM, "storage.persistentVolume.size", "2Gi", &["claim"], NO_SETTING),
        change(MANAGED_CLAIM, "storage.persistentVolume.storageClassName", "fast", &["claim"], NO_SETTING),
        pod(EXISTING_CLAIM, "storage.persistentVolume.persistentVolumeClaim", "d"),
        setting(MANAGED_CLAIM, "storage.persistentVolume.mountPath", "/m", &["dataDir"]),
        pod(EXISTING_CLAIM_OLD_FIELD, "storage.persistentVolumeClaim", "d"),
        setting(EXISTING_CLAIM_OLD_FIELD, "storage.mountPath", "/m", &["dataDir"]),
        change(MANAGED_CLAIM, "storage.deletionPolicy", "Delete", &["claim"], NO_SETTING),
        change(EXISTING_CLAIM_OLD_FIELD, "storage.deletionPolicy", "Delete", NO_OBJECT, NO_SETTING),
        change(NOTHING, "storage.vectorDB.engine", "Faiss", NO_OBJECT, NO_SETTING),
        change(
            WITH_URL,
            "storage.vectorDB.engine",
            "weaviate",
            &["deployment", "pod", "settings"],
            &["vectorDB.engine", "vectorDB.url"],
        ),
        change(
            WITH_URL,
            "storage.vectorDB.engine",
            "qdrant",
            &["deployment", "pod", "settings"],
            &["vectorDB.engine", "vectorDB.url"],
        ),
        setting(WEAVIATE, "storage.vectorDB.url", "http://x", &["vectorDB.url"]),
        setting(WEAVIATE, "storage.vectorDB.accessSecret", "s", &["vectorDB.apiKey"]),
        pod(WEAVIATE_WITH_SECRET, "storage.vectorDB.accessSecret", "s"),
        setting(WEAVIATE, "storage.vectorDB.replicationFactor", 3, &["vectorDB.replicationFactor"]),
        setting(WEAVIATE, "storage.vectorDB.shards", 2, &["vectorDB.shards"]),
        setting(QDRANT, "storage.vectorDB.url", "http://x", &["vectorDB.url"]),
        setting(QDRANT, "storage.vectorDB.accessSecret", "s", &["vectorDB.apiKey"]),
        setting(QDRANT, "storage.vectorDB.replicationFactor", 3, &["vectorDB.replicationFactor"]),
        setting(QDRANT, "storage.vectorDB.shards", 2, &["vectorDB.shards"]),
        setting(NOTHING, "retrieval.maxDistance", 1.1, &["retrieval.maxDistance"]),
        setting(NOTHING, "retrieval.contextTokenRatio", 0.7, &["retrieval.contextTokenRatio"]),
        setting(NOTHING, "retrieval.minTopK", 8, &["retrieval.minTopK"]),
        setting(NOTHING, "retrieval.tokensPerChunk", 8, &["retrieval.tokensPerChunk"]),
        setting(NOTHING, "retrieval.filterRules", json!([{"filter": {"a": 1}}]), &["retrieval.filterRules"]),
        setting(NOTHING, "retrieval.threshold", "calibrated", &["retrieval.threshold"]),
        setting(NOTHING, "retrieval.minSimilarity", 0.75, &["retrieval.minSimilarity"]),
        setting(NOTHING, "retrieval.language", "german", &["retrieval.language"]),
        setting(NOTHING, "retrieval.denseWeight", 0.5, &["retrieval.denseWeight"]),
        setting(NOTHING, "retrieval.textWeight", 0.5, &["retrieval.textWeight"]),
        setting(NOTHING, "retrieval.mmrLambda", 0.5, &["retrieval.mmrLambda"]),
        setting(NOTHING, "retrieval.duplicateSimilarity", 0.5, &["retrieval.duplicateSimilarity"]),
        setting(NOTHING, "rewrite.acronyms", json!({"ABO": "Office"}), &["rewrite.acronyms.ABO"]),
        setting(NOTHING, "rewrite.model", "m", &["rewrite.model"]),
        // Other kinds need other fields at the same time.
        change(NOTHING, "rerank.backend", "llm", NO_OBJECT, NO_SETTING),
        setting(RERANKER, "rerank.url", "http://s/rerank", &["rerank.url"]),
        setting(NOTHING, "rerank.model", "m", &["rerank.model"]),
        setting(RERANKER, "rerank.accessSecret", "s", &["rerank.apiKey"]),
        pod(RERANKER_WITH_SECRET, "rerank.accessSecret", "s"),
        setting(LOCAL_RERANKER, "rerank.local.modelID", "a/b", &["rerank.local.modelID"]),
        setting(LOCAL_RERANKER, "rerank.local.revision", "v2", &["rerank.local.revision"]),
        setting(LOCAL_RERANKER, "rerank.local.hubUrl", "http://h", &["rerank.local.hubUrl"]),
        setting(LOCAL_RERANKER, "rerank.local.modelAccessSecret", "s", &["rerank.local.hubToken"]),
        pod(LOCAL_RERANKER_WITH_SECRET, "rerank.local.modelAccessSecret", "s"),
        setting(LOCAL_RERANKER, "rerank.local.maxTokens", 100, &["rerank.local.maxTokens"]),
        setting(NOTHING, "rerank.scoreSpread", 0.5, &["rerank.scoreSpread"]),
        setting(NOTHING, "rerank.temporalWords", json!(["today"]), &["rerank.temporalWords"]),
        setting(NOTHING, "rerank.temporalWords", json!([]), &["rerank.temporalWords"]),
        setting(NOTHING, "rerank.comparisonWords", json!(["unlike"]), &["rerank.comparisonWords"]),
        setting(NOTHING, "postgres.url", "postgres://rag@db/rag", &["postgres.url"]),
        setting(DATABASE, "postgres.accessSecret", "s", &["postgres.password"]),
        pod(DATABASE_WITH_SECRET, "postgres.accessSecret", "s"),
        setting(NOTHING, "redis.url", "redis://cache", &["redis.url"]),
        setting(REDIS, "redis.accessSecret", "s", &["redis.password"]),
        pod(REDIS_WITH_SECRET, "redis.accessSecret", "s"),
        setting(NOTHING, "defaultIndex", "handbook", &["defaultIndex"]),
        setting(REDIS, "sessions.store", "redis", &["sessions.store"]),
        setting(DATABASE, "sessions.store", "postgres", &["sessions.store"]),
        setting(NOTHING, "sessions.expirySeconds", 3600, &["sessions.expirySeconds"]),
        setting(NOTHING, "sessions.historyRatio", 0.4, &["sessions.historyRatio"]),
        setting(NOTHING, "sessions.historyFormat", "section", &["sessions.historyFormat"]),
        setting(NOTHING, "sessions.whenDown", "refuse", &["sessions.whenDown"]),
        setting(NOTHING, "feedback.enabled", false, &["feedback.enabled"]),
        setting(DATABASE, "feedback.store", "postgres", &["feedback.store"]),
        setting(NOTHING, "interactions.enabled", true, &["interactions.enabled"]),
        setting(DATABASE, "interactions.store", "postgres", &["interactions.store"]),
        setting(NOTHING, "interactions.anonymous", true, &["interactions.anonymous"]),
        setting(NOTHING, "interactions.providerName", "vllm", &["interactions.providerName"]),
        setting(NOTHING, "interactions.maxChars", 8, &["interactions.maxChars"]),
        setting(
            NOTHING,
            "interactions.maxCharsByModel",
            json!({"gpt-4o": 4000, "m": 8}),
            &[
                "interactions.maxCharsByModel.claude-3-5-haiku",
                "interactions.maxCharsByModel.gemini-pro",
                "interactions.maxCharsByModel.m",
            ],
        ),
        setting(NOTHING, "interactions.includeMetadata", false, &["interactions.includeMetadata"]),
        setting(NOTHING, "interactions.maxEntries", 8, &["interactions.maxEntries"]),
        setting(NOTHING, "interactions.keep", 8, &["interactions.keep"]),
        setting(NOTHING, "interactions.topK", 8, &["interactions.topK"]),
        setting(NOTHING, "interactions.minSimilarity", 0.5, &["interactions.minSimilarity"]),
        setting(NOTHING, "interactions.overlapThreshold", 0.5, &["interactions.overlapThreshold"]),
        setting(NOTHING, "interactions.overlapThreshold", "adaptive", &["interactions.overlapThreshold"]),
        setting(NOTHING, "endpoints.completions.condense", "followUp", &["endpoints.completions.condense"]),
        setting(NOTHING, "endpoints.completions.reformulate", true, &["endpoints.completions.reformulate"]),
        setting(NOTHING, "endpoints.completions.feedback", true, &["endpoints.completions.feedback"]),
        setting(NOTHING, "endpoints.completions.rerank", "conditional", &["endpoints.completions.rerank"]),
        setting(NOTHING, "endpoints.completions.interactions", true, &["endpoints.completions.interactions"]),
        setting(NOTHING, "endpoints.completions.contextFormat", "source", &["endpoints.completions.contextFormat"]),
        setting(NOTHING, "endpoints.completions.acronyms", true, &["endpoints.completions.acronyms"]),
        setting(NOTHING, "endpoints.completions.filterRules", true, &["endpoints.completions.filterRules"]),
        setting(NOTHING, "endpoints.completions.retrieval", "hybrid", &["endpoints.completions.retrieval"]),
        setting(NOTHING, "endpoints.completions.recency", true, &["endpoints.completions.recency"]),
        setting(NOTHING, "endpoints.completions.diversity", "mmr", &["endpoints.completions.diversity"]),
        setting(NOTHING, "endpoints.retrieve.retrieval", "dense", &["endpoints.retrieve.retrieval"]),
        setting(NOTHING, "endpoints.retrieve.acronyms", false, &["endpoints.retrieve.acronyms"]),
        setting(NOTHING, "endpoints.retrieve.filterRules", true, &["endpoints.retrieve.filterRules"]),
        setting(NOTHING, "endpoints.query.topK", 20, &["endpoints.query.topK"]),
        setting(NOTHING, "endpoints.query.contextRatio", 0.3, &["endpoints.query.contextRatio"]),
        setting(NOTHING, "endpoints.query.answerRatio", 0.2, &["endpoints.query.answerRatio"]),
        setting(NOTHING, "endpoints.query.condense", "followUp", &["endpoints.query.condense"]),
        setting(NOTHING, "endpoints.query.reformulate", true, &["endpoints.query.reformulate"]),
        setting(NOTHING, "endpoints.query.acronyms", false, &["endpoints.query.acronyms"]),
        setting(NOTHING, "endpoints.query.filterRules", false, &["endpoints.query.filterRules"]),
        setting(NOTHING, "endpoints.query.retrieval", "dense", &["endpoints.query.retrieval"]),
        setting(NOTHING, "endpoints.query.feedback", false, &["endpoints.query.feedback"]),
        setting(NOTHING, "endpoints.query.recency", false, &["endpoints.query.recency"]),
        setting(NOTHING, "endpoints.query.rerank", "never", &["endpoints.query.rerank"]),
        setting(NOTHING, "endpoints.query.diversity", "none", &["endpoints.query.diversity"]),
        setting(NOTHING, "endpoints.query.interactions", true, &["endpoints.query.interactions"]),
        setting(NOTHING, "endpoints.query.contextFormat", "source", &["endpoints.query.contextFormat"]),
        setting(NOTHING, "endpoints.chat.topK", 20, &["endpoints.chat.topK"]),
        setting(NOTHING, "endpoints.chat.maxContextTokens", 2000, &["endpoints.chat.maxContextTokens"]),
        setting(NOTHING, "endpoints.chat.temperature", 0.5, &["endpoints.chat.temperature"]),
        setting(NOTHING, "endpoints.chat.maxTokens", 500, &["endpoints.chat.maxTokens"]),
        setting(NOTHING, "endpoints.chat.condense", "always", &["endpoints.chat.condense"]),
        setting(NOTHING, "endpoints.chat.reformulate", false, &["endpoints.chat.reformulate"]),
        setting(NOTHING, "endpoints.chat.acronyms", false, &["endpoints.chat.acronyms"]),
        setting(NOTHING, "endpoints.chat.filterRules", false, &["endpoints.chat.filterRules"]),
        setting(NOTHING, "endpoints.chat.retrieval", "dense", &["endpoints.chat.retrieval"]),
        setting(NOTHING, "endpoints.chat.feedback", false, &["endpoints.chat.feedback"]),
        setting(NOTHING, "endpoints.chat.recency", false, &["endpoints.chat.recency"]),
        setting(NOTHING, "endpoints.chat.rerank", "never", &["endpoints.chat.rerank"]),
        setting(NOTHING, "endpoints.chat.diversity", "none", &["endpoints.chat.diversity"]),
        setting(NOTHING, "endpoints.chat.interactions", true, &["endpoints.chat.interactions"]),
        setting(NOTHING, "endpoints.chat.postprocess", false, &["endpoints.chat.postprocess"]),
        setting(NOTHING, "endpoints.chat.citations", false, &["endpoints.chat.citations"]),
        setting(NOTHING, "endpoints.chat.cache", false, &["endpoints.chat.cache"]),
        setting(NOTHING, "endpoints.chat.events", false, &["endpoints.chat.events"]),
        setting(NOTHING, "endpoints.chat.models", json!(["m"]), &["endpoints.chat.models"]),
        setting(WITHOUT_CITATIONS, "endpoints.chat.contextFormat", "source", &["endpoints.chat.contextFormat"]),
        setting(
            NOTHING,
            "endpoints.chat.modelByCaller",
            json!({"user:ann": "m"}),
            &["endpoints.chat.modelByCaller.user:ann"],
        ),
        setting(NOTHING, "endpoints.completions.postprocess", true, &["endpoints.completions.postprocess"]),
        setting(NOTHING, "endpoints.completions.citations", true, &["endpoints.completions.citations"]),
        setting(NOTHING, "endpoints.query.postprocess", false, &["endpoints.query.postprocess"]),
        setting(NOTHING, "endpoints.query.citations", true, &["endpoints.query.citations"]),
        setting(NOTHING, "endpoints.query.cache", false, &["endpoints.query.cache"]),
        setting(NOTHING, "endpoints.query.events", false, &["endpoints.query.events"]),
        setting(NOTHING, "cache.enabled", false, &["cache.enabled"]),
        setting(NOTHING, "cache.minSimilarity", 0.5, &["cache.minSimilarity"]),
        setting(NOTHING, "cache.ttlDays", 7, &["cache.ttlDays"]),
        setting(NOTHING, "citations.fallbackMessage", "No.", &["citations.fallbackMessage"]),
        setting(NOTHING, "citations.insufficientPhrases", json!(["not stated"]), &["citations.insufficientPhrases"]),
        setting(NOTHING, "citations.verify", true, &["citations.verify"]),
        setting(NOTHING, "events.url", "amqp://rabbitmq", &["events.url"]),
        setting(RABBITMQ, "events.accessSecret", "s", &["events.password"]),
        pod(RABBITMQ_WITH_SECRET, "events.accessSecret", "s"),
        setting(RABBITMQ, "events.exchange", "search", &["events.exchange"]),
        setting(WITH_POLICY, "guardrails.enabled", true, &["guardrails.enabled", "guardrails.policyFile"]),
        change(NOTHING, "guardrails.configMapRef.name", "c", NO_OBJECT, NO_SETTING),
        pod("{guardrails: {enabled: true, configMapRef: {name: a}}}", "guardrails.configMapRef.name", "c"),
        change(BACKUP, "backup.schedule", "0 2 * * *", &["backup"], NO_SETTING),
        change(BACKUP, "backup.suspend", true, &["backup"], NO_SETTING),
        change(BACKUP, "backup.keep", 3, &["backupTask"], NO_SETTING),
        change(BACKUP, "backup.s3.bucket", "c", &["backupTask"], NO_SETTING),
        change(BACKUP, "backup.s3.prefix", "p", &["backupTask"], NO_SETTING),
        change(BACKUP, "backup.s3.endpoint", "http://s3", &["backupTask"], NO_SETTING),
        change(BACKUP, "backup.s3.region", "eu-central-1", &["backupTask"], NO_SETTING),
        change(BACKUP, "backup.s3.accessSecret", "s", &["backup", "backupTask"], NO_SETTING),
        change(BACKUP_ON_CLAIM, "backup.persistentVolumeClaim.claimName", "d", &["backup"], NO_SETTING),
        change(BACKUP_ON_CLAIM, "backup.persistentVolumeClaim.path", "p", &["backupTask"], NO_SETTING),
        change(BACKUP, "auth.writes", "open", &["pod", "settings", "writeToken", "backup", "backupTask"], &["auth.writeToken", "auth.writeTokenSource"]),
        change(BACKUP, "image.tag", "0.1.1", &["backup", "pod", "service", "settings"], &["adminListen", "listen", "stateNamespace"]),
        change(BACKUP, "replicas", 0, &["backup", "deployment"], NO_SETTING),
        setting(RESTORE, "bootstrap.restore.s3.bucket", "c", &["bootstrap.restore.place.s3.bucket"]),
        setting(RESTORE, "bootstrap.restore.s3.prefix", "p", &["bootstrap.restore.place.s3.prefix"]),
        setting(RESTORE, "bootstrap.restore.s3.endpoint", "http://s3", &["bootstrap.restore.place.s3.endpoint"]),
        setting(RESTORE, "bootstrap.restore.s3.region", "r", &["bootstrap.restore.place.s3.region"]),
        setting(RESTORE, "bootstrap.restore.s3.accessSecret", "s", &["bootstrap.restore.place.s3.credentials"]),
        pod(RESTORE_FROM_CLAIM, "bootstrap.restore.persistentVolumeClaim.claimName", "d"),
        setting(RESTORE_FROM_CLAIM, "bootstrap.restore.persistentVolumeClaim.path", "p", &["bootstrap.restore.place.folder"]),
        setting(RESTORE, "bootstrap.restore.name", "n", &["bootstrap.restore.name"]),
        setting(NOTHING, "audit.enabled", true, &["audit.enabled"]),
        setting(NOTHING, "tracing.otlpEndpoint", "http://c:4318", &["tracing.otlpEndpoint"]),
        setting(COLLECTOR, "tracing.sampleRatio", 0.5, &["tracing.sampleRatio"]),
        change(NOTHING, "tls.secretName", "s", &["pod", "service", "settings"], &["tls.certificateFile", "tls.keyFile"]),
        pod(WITH_TLS, "tls.secretName", "s"),
        setting(NOTHING, "limits.chatsPerMinutePerCaller", 8, &["limits.chatsPerMinutePerCaller"]),
        change(
            NOTHING,
            "auth.modes",
            json!(["jwt"]),
            &["auth", "pod", "settings"],
            &["auth.accessFile", "auth.jwt", "auth.modes", "auth.writeTokenSource"],
        ),
        setting(WITH_MODE, "auth.modes", json!(["apiKey", "jwt"]), &["auth.modes"]),
        setting(NOTHING, "auth.apiKeysSecret", "s", &["auth.apiKeysFolder"]),
        pod("{auth: {apiKeysSecret: r}}", "auth.apiKeysSecret", "s"),
        setting(WITH_MODE, "auth.defaultAccess.read", json!(["group:a"]), &["auth.defaultAccess.read"]),
        setting(WITH_MODE, "auth.defaultAccess.read", json!([]), &["auth.defaultAccess.read"]),
        setting(WITH_MODE, "auth.defaultAccess.write", json!(["user:a"]), &["auth.defaultAccess.write"]),
        setting(NOTHING, "auth.sessionToken.keyPrefix", "s:", &["auth.sessionToken.keyPrefix"]),
        setting(
            WITH_MODE,
            "auth.jwt",
            json!([{"issuer": "a", "audience": "b", "jwksUrl": "http://a"}]),
            &["auth.jwt"],
        ),
        change(NOTHING, "allowAnonymous", true, NO_OBJECT, NO_SETTING),
        change(OPEN, "ingress.host", "docs.example", &["ingress"], NO_SETTING),
        change(RESTRICTED, "ingress.host", "b.example", &["ingress", "pod", "settings"], &["allowedHosts"]),
        change(WITH_INGRESS, "ingress.className", "nginx", &["ingress"], NO_SETTING),
        change(WITH_INGRESS, "ingress.tlsSecretName", "s", &["ingress"], NO_SETTING),
        change(WITH_INGRESS, "ingress.annotations", json!({"a": "b"}), &["ingress"], NO_SETTING),
        change(OPEN, "httpRoute.parentRefs", json!([{"name": "public"}]), &["httpRoute"], NO_SETTING),
        change(WITH_ROUTE, "httpRoute.hostnames", json!(["docs.example"]), &["httpRoute"], NO_SETTING),
        change(
            NOTHING,
            "auth.writes",
            "open",
            &["pod", "settings", "writeToken"],
            &["auth.writeToken", "auth.writeTokenSource"],
        ),
        setting(NOTHING, "cors.allowedOrigins", json!(["https://chat.example"]), &["cors.allowedOrigins"]),
        setting(NOTHING, "allowedHosts", json!(["docs.example"]), &["allowedHosts"]),
        change(NOTHING, "networkPolicy.from", json!([]), &["networkPolicy"], NO_SETTING),
        change(
            "{networkPolicy: {}}",
            "networkPolicy.from",
            json!([{"podSelector": {"matchLabels": {"a": "b"}}}]),
            &["networkPolicy"],
            NO_SETTING,
        ),
        change("{networkPolicy: {}}", "networkPolicy.egress.to", json!([]), &["networkPolicy"], NO_SETTING),
        change("{networkPolicy: {}}", "networkPolicy.syncEgress.to", json!([]), &["syncNetworkPolicy"], NO_SETTING),
        pod(NOTHING, "image.repository", "other"),
        // A server of another version gets no setting that it may not know.
        change(NOTHING, "image.tag", "2", &["pod", "service", "settings"], &["adminListen", "listen", "stateNamespace"]),
        pod("{image: {tag: '1'}}", "image.tag", "2"),
        change(NOTHING, "image.digest", DIGEST, &["pod", "service", "settings"], &["adminListen", "listen", "stateNamespace"]),
        pod("{image: {tag: '1'}}", "image.digest", DIGEST),
        pod(NOTHING, "image.pullPolicy", "Always"),
        pod(NOTHING, "resources.requests", json!({"cpu": 1})),
        pod(NOTHING, "resources.limits", json!({"memory": "3Gi"})),
        change(NOTHING, "compute.instanceType", "large", &["pod", "nodeClaims"], NO_SETTING),
        change(NOTHING, "compute.count", 1, NO_OBJECT, NO_SETTING),
        change("{compute: {instanceType: large}}", "compute.count", 2, &["nodeClaims"], NO_SETTING),
        change("{compute: {instanceType: large}}", "compute.labelSelector.matchLabels", json!({"disk": "ssd"}), &["pod", "nodeClaims"], NO_SETTING),
        pod(NOTHING, "compute.labelSelector.matchLabels", json!({"disk": "ssd"})),
        pod(NOTHING, "compute.preferredNodes", json!(["a"])),
        pod(NOTHING, "podTemplate.metadata.labels", json!({"a": "b"})),
        pod(NOTHING, "podTemplate.metadata.annotations", json!({"a": "b"})),
        pod(NOTHING, "podTemplate.spec", json!({"priorityClassName": "high"})),
    ]
}
