use serde_json::{Value, json};

/// The effect of a change of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The settings file changes, and the pod is replaced.
    Settings,
    /// The settings file and the Service's ports change, and the pod is replaced.
    Ports,
    /// Only the pod is replaced.
    Pod,
    /// Only the number of pods changes.
    Replicas,
    /// Only a NetworkPolicy changes.
    NetworkPolicy,
    /// Only the claim changes.
    Claim,
    /// Nothing changes, because the API server does not let the claim grow.
    Refused,
    /// Nothing changes.
    Nothing,
}

/// A specification, and changes of one field each.
pub struct Base {
    pub name: &'static str,
    pub spec: Value,
    pub fields: Vec<(String, Value, Effect)>,
}

/// Fields that the API server does not let change.
pub const UNCHANGEABLE: [&str; 9] = [
    "storage.persistentVolume.storageClassName",
    "bootstrap.restore.name",
    "bootstrap.restore.persistentVolumeClaim.claimName",
    "bootstrap.restore.persistentVolumeClaim.path",
    "bootstrap.restore.s3.accessSecret",
    "bootstrap.restore.s3.bucket",
    "bootstrap.restore.s3.endpoint",
    "bootstrap.restore.s3.prefix",
    "bootstrap.restore.s3.region",
];

pub fn bases() -> Vec<Base> {
    use Effect::{Claim, NetworkPolicy, Nothing, Pod, Ports, Refused, Replicas, Settings};
    vec![
        Base {
            name: "local",
            spec: json!({"embedding": {"local": {}}}),
            fields: [
                fields(vec![
                    ("embedding.local.modelID", json!("BAAI/bge-small-en-v1.5"), Settings),
                    ("embedding.local.revision", json!("v2"), Settings),
                    ("embedding.local.hubUrl", json!("https://hub.example"), Settings),
                    ("embedding.local.modelAccessSecret", json!("key-a"), Settings),
                    ("embedding.local.image", json!("registry.example/model"), Nothing),
                    ("embedding.local.imagePullSecret", json!("registry"), Nothing),
                    ("embedding.local.modelFile", json!("onnx/model_int8.onnx"), Settings),
                    ("embedding.local.maxTokens", json!(200), Settings),
                    ("embedding.local.pooling", json!("cls"), Settings),
                    ("embedding.local.queryPrefix", json!("query: "), Settings),
                    ("embedding.local.passagePrefix", json!("passage: "), Settings),
                    ("embedding.local.documentNames", json!(true), Settings),
                    ("retrieval.maxDistance", json!(1.1), Settings),
                    ("retrieval.contextTokenRatio", json!(0.4), Settings),
                    ("retrieval.minTopK", json!(20), Settings),
                    ("retrieval.tokensPerChunk", json!(250), Settings),
                    ("retrieval.filterRules.filter", json!([{"filter": {"priority": {"$gte": 7}}}]), Settings),
                    (
                        "retrieval.filterRules.words",
                        json!([{"words": ["policy"], "filter": {"priority": {"$gte": 7}}}]),
                        Settings,
                    ),
                    ("retrieval.threshold", json!("calibrated"), Settings),
                    ("retrieval.minSimilarity", json!(0.75), Settings),
                    ("retrieval.language", json!("german"), Settings),
                    ("retrieval.denseWeight", json!(0.5), Settings),
                    ("retrieval.textWeight", json!(0.5), Settings),
                    ("retrieval.mmrLambda", json!(0.5), Settings),
                    ("retrieval.duplicateSimilarity", json!(0.5), Settings),
                    ("endpoints.completions.retrieval", json!("hybrid"), Settings),
                    ("endpoints.completions.recency", json!(true), Settings),
                    ("endpoints.completions.diversity", json!("mmr"), Settings),
                    ("endpoints.completions.postprocess", json!(true), Settings),
                    // Only without them, sources may stand instead of numbers.
                    ("endpoints.completions.citations", json!(true), Settings),
                    ("endpoints.completions.citations", json!(false), Settings),
                    ("endpoints.completions.contextFormat", json!("source"), Settings),
                    ("endpoints.retrieve.retrieval", json!("dense"), Settings),
                    ("rewrite.acronyms", json!({"ABO": "Administrative Business Office"}), Settings),
                    ("endpoints.completions.acronyms", json!(true), Settings),
                    ("endpoints.completions.filterRules", json!(true), Settings),
                    ("endpoints.retrieve.acronyms", json!(false), Settings),
                    ("endpoints.retrieve.filterRules", json!(true), Settings),
                    ("rewrite.model", json!("b"), Settings),
                    // Other kinds need other fields at the same time.
                    ("rerank.backend", json!("llm"), Nothing),
                    ("rerank.scoreSpread", json!(0.5), Settings),
                    ("rerank.temporalWords", json!(["today"]), Settings),
                    ("rerank.comparisonWords", json!(["unlike"]), Settings),
                    ("postgres.url", json!("postgres://rag@postgres/rag"), Settings),
                    ("postgres.accessSecret", json!("key-a"), Settings),
                    ("redis.url", json!("redis://redis:6379"), Settings),
                    ("redis.accessSecret", json!("key-a"), Settings),
                    ("defaultIndex", json!("handbook"), Settings),
                    ("sessions.store", json!("redis"), Settings),
                    ("sessions.expirySeconds", json!(3600), Settings),
                    ("sessions.historyRatio", json!(0.25), Settings),
                    ("sessions.historyFormat", json!("section"), Settings),
                    ("sessions.whenDown", json!("refuse"), Settings),
                    ("feedback.enabled", json!(false), Settings),
                    ("feedback.store", json!("postgres"), Settings),
                    ("interactions.enabled", json!(true), Settings),
                    ("interactions.store", json!("postgres"), Settings),
                    ("interactions.anonymous", json!(true), Settings),
                    ("interactions.providerName", json!("vllm"), Settings),
                    ("interactions.maxChars", json!(1000), Settings),
                    ("interactions.maxCharsByModel", json!({"qwen3-8b": 3000}), Settings),
                    ("interactions.includeMetadata", json!(false), Settings),
                    ("interactions.maxEntries", json!(8), Settings),
                    ("interactions.keep", json!(2), Settings),
                    ("interactions.topK", json!(8), Settings),
                    ("interactions.minSimilarity", json!(0.5), Settings),
                    ("interactions.overlapThreshold", json!(0.25), Settings),
                    ("interactions.overlapThreshold", json!("adaptive"), Settings),
                    ("endpoints.completions.condense", json!("followUp"), Settings),
                    ("endpoints.completions.reformulate", json!(true), Settings),
                    ("endpoints.completions.feedback", json!(true), Settings),
                    ("endpoints.completions.rerank", json!("conditional"), Settings),
                    ("endpoints.completions.interactions", json!(true), Settings),
                    ("endpoints.query.topK", json!(20), Settings),
                    ("endpoints.query.contextRatio", json!(0.3), Settings),
                    ("endpoints.query.answerRatio", json!(0.2), Settings),
                    ("endpoints.query.condense", json!("followUp"), Settings),
                    ("endpoints.query.reformulate", json!(true), Settings),
                    ("endpoints.query.acronyms", json!(false), Settings),
                    ("endpoints.query.filterRules", json!(false), Settings),
                    ("endpoints.query.retrieval", json!("dense"), Settings),
                    ("endpoints.query.feedback", json!(false), Settings),
                    ("endpoints.query.recency", json!(false), Settings),
                    ("endpoints.query.rerank", json!("never"), Settings),
                    ("endpoints.query.diversity", json!("none"), Settings),
                    ("endpoints.query.interactions", json!(true), Settings),
                    ("endpoints.query.postprocess", json!(false), Settings),
                    // Only without them, sources may stand instead of numbers.
                    ("endpoints.query.citations", json!(true), Settings),
                    ("endpoints.query.citations", json!(false), Settings),
                    ("endpoints.query.contextFormat", json!("source"), Settings),
                    ("endpoints.query.cache", json!(false), Settings),
                    ("endpoints.query.events", json!(false), Settings),
                    ("endpoints.chat.topK", json!(20), Settings),
                    ("endpoints.chat.maxContextTokens", json!(2000), Settings),
                    ("endpoints.chat.temperature", json!(0.5), Settings),
                    ("endpoints.chat.maxTokens", json!(500), Settings),
                    ("endpoints.chat.condense", json!("always"), Settings),
                    ("endpoints.chat.reformulate", json!(false), Settings),
                    ("endpoints.chat.acronyms", json!(false), Settings),
                    ("endpoints.chat.filterRules", json!(false), Settings),
                    ("endpoints.chat.retrieval", json!("dense"), Settings),
                    ("endpoints.chat.feedback", json!(false), Settings),
                    ("endpoints.chat.recency", json!(false), Settings),
                    ("endpoints.chat.rerank", json!("never"), Settings),
                    ("endpoints.chat.diversity", json!("none"), Settings),
                    ("endpoints.chat.interactions", json!(true), Settings),
                    ("endpoints.chat.postprocess", json!(false), Settings),
                    // Sources have no numbers to cite.
                    ("endpoints.chat.citations", json!(false), Settings),
                    ("endpoints.chat.contextFormat", json!("source"), Settings),
                    ("endpoints.chat.cache", json!(false), Settings),
                    ("endpoints.chat.events", json!(false), Settings),
                    ("endpoints.chat.models", json!(["b"]), Settings),
                    ("endpoints.chat.modelByCaller", json!({"user:ann": "b"}), Settings),
                    ("cache.enabled", json!(false), Settings),
                    ("cache.minSimilarity", json!(0.5), Settings),
                    ("cache.ttlDays", json!(7), Settings),
                    ("citations.fallbackMessage", json!("No document says so."), Settings),
                    ("citations.insufficientPhrases", json!(["not stated"]), Settings),
                    ("citations.verify", json!(true), Settings),
                    ("events.url", json!("amqp://rag@rabbitmq:5672"), Settings),
                    ("events.accessSecret", json!("key-a"), Settings),
                    ("events.exchange", json!("search"), Settings),
                    ("audit.enabled", json!(true), Settings),
                    ("tracing.otlpEndpoint", json!("http://collector:4318"), Settings),
                    ("tracing.sampleRatio", json!(0.5), Settings),
                    ("limits.chatsPerMinutePerCaller", json!(30), Settings),
                    ("image.repository", json!("registry.example/ragengine"), Pod),
                    // Another version of the server may lack the listener for probes, which is in the settings and the
                    // Service.
                    ("image.tag", json!("other"), Ports),
                    ("image.digest", json!(format!("sha256:{}", "0a".repeat(32))), Pod),
                    ("image.pullPolicy", json!("Never"), Pod),
                    ("resources.requests", json!({"cpu": "60m", "memory": "130Mi"}), Pod),
                    ("resources.limits", json!({"memory": "900Mi"}), Pod),
                    ("compute.instanceType", json!("any"), Pod),
                    ("guardrails.configMapRef.name", json!("policy"), Nothing),
                    ("guardrails.enabled", json!(true), Settings),
                    ("storage.vectorDB.engine", json!("Faiss"), Nothing),
                    ("compute.count", json!(1), Nothing),
                    ("compute.labelSelector.matchLabels", json!({"example.com/disk": "ssd"}), Pod),
                    ("compute.preferredNodes", json!(["node-a", "node-b"]), Pod),
                    ("podTemplate.metadata.labels", json!({"example.com/team": "search"}), Pod),
                    ("podTemplate.metadata.annotations", json!({"example.com/owner": "search"}), Pod),
                    ("podTemplate.spec", json!({"terminationGracePeriodSeconds": 7}), Pod),
                    ("networkPolicy.from", json!([{"podSelector": {}}]), NetworkPolicy),
                    (
                        "networkPolicy.from.namespaceSelector.matchLabels",
                        json!([{"namespaceSelector": {"matchLabels": {"team": "search"}}}]),
                        NetworkPolicy,
                    ),
                    (
                        "networkPolicy.from.podSelector.matchLabels",
                        json!([{"podSelector": {"matchLabels": {"app": "portal"}}}]),
                        NetworkPolicy,
                    ),
                ]),
                destinations("networkPolicy.egress"),
                destinations("networkPolicy.syncEgress"),
                fields(vec![
                    ("cors.allowedOrigins", json!(["https://chat.example"]), Settings),
                    ("allowedHosts", json!(["docs.example"]), Settings),
                    ("auth.writes", json!("open"), Settings),
                    ("replicas", json!(1), Replicas),
                ]),
            ]
            .concat(),
        },
        Base {
            name: "remote",
            spec: json!({
                "embedding": {"remote": {"url": "https://a.example/v1", "model": "a"}},
                "inferenceService": {"url": "https://a.example/v1"},
            }),
            fields: fields(vec![
                ("embedding.remote.url", json!("https://b.example/v1"), Settings),
                ("embedding.remote.model", json!("b"), Settings),
                ("embedding.remote.accessSecret", json!("key-a"), Settings),
                // The path in the settings stays the same.
                ("embedding.remote.accessSecret", json!("key-b"), Pod),
                ("embedding.remote.dimensions", json!(256), Settings),
                ("embedding.remote.maxTokens", json!(512), Settings),
                ("embedding.remote.batchSize", json!(8), Settings),
                ("embedding.remote.timeoutSeconds", json!(30), Settings),
                ("embedding.remote.queryPrefix", json!("query: "), Settings),
                ("embedding.remote.passagePrefix", json!("passage: "), Settings),
                ("embedding.remote.documentNames", json!(true), Settings),
                ("inferenceService.url", json!("https://b.example/v1"), Settings),
                ("inferenceService.model", json!("b"), Settings),
                ("inferenceService.accessSecret", json!("key-a"), Settings),
                ("inferenceService.contextWindowSize", json!(8192), Settings),
                ("inferenceService.tokenizer", json!("/models/b"), Settings),
                ("inferenceService.timeoutSeconds", json!(60), Settings),
                ("inferenceService.models", json!(["b", "c"]), Settings),
                ("inferenceService.maxConcurrentRequests", json!(8), Settings),
                ("inferenceService.maxWaitingRequests", json!(16), Settings),
            ]),
        },
        Base {
            name: "reranker",
            spec: json!({"rerank": {"backend": "endpoint", "url": "https://a.example/rerank"}}),
            fields: fields(vec![
                ("rerank.url", json!("https://b.example/rerank"), Settings),
                ("rerank.model", json!("b"), Settings),
                ("rerank.accessSecret", json!("key-a"), Settings),
                // The path in the settings stays the same.
                ("rerank.accessSecret", json!("key-b"), Pod),
            ]),
        },
        Base {
            name: "local-reranker",
            spec: json!({"rerank": {"backend": "local", "local": {}}}),
            fields: fields(vec![
                ("rerank.local.modelID", json!("BAAI/bge-reranker-base"), Settings),
                ("rerank.local.revision", json!("v2"), Settings),
                ("rerank.local.hubUrl", json!("https://hub.example"), Settings),
                ("rerank.local.modelAccessSecret", json!("key-a"), Settings),
                ("rerank.local.maxTokens", json!(200), Settings),
            ]),
        },
        // The CronJob of backups is not compared here.
        Base {
            name: "backup",
            spec: json!({"backup": {"schedule": "0 1 * * *", "s3": {"bucket": "b"}}}),
            fields: fields(vec![
                ("backup.schedule", json!("0 2 * * *"), Nothing),
                ("backup.suspend", json!(true), Nothing),
                ("backup.keep", json!(3), Nothing),
                ("backup.s3.bucket", json!("c"), Nothing),
                ("backup.s3.prefix", json!("p"), Nothing),
                ("backup.s3.endpoint", json!("http://s3.example"), Nothing),
                ("backup.s3.region", json!("eu-central-1"), Nothing),
                ("backup.s3.accessSecret", json!("key-a"), Nothing),
            ]),
        },
        Base {
            name: "backup-claim",
            spec: json!({"backup": {"schedule": "0 1 * * *", "persistentVolumeClaim": {"claimName": "c"}}}),
            fields: fields(vec![
                ("backup.persistentVolumeClaim.claimName", json!("d"), Nothing),
                ("backup.persistentVolumeClaim.path", json!("p"), Nothing),
            ]),
        },
        Base {
            name: "access",
            spec: json!({"redis": {"url": "redis://redis:6379"}}),
            fields: fields(vec![
                // The port for clients says that it has TLS.
                ("tls.secretName", json!("key-a"), Ports),
                ("tls.secretName", json!("key-b"), Pod),
                // These objects are not compared here.
                ("allowAnonymous", json!(true), Nothing),
                ("ingress.host", json!("docs.example"), Nothing),
                ("ingress.className", json!("none-such"), Nothing),
                ("ingress.tlsSecretName", json!("certificate"), Nothing),
                ("ingress.annotations", json!({"example.com/limit": "8"}), Nothing),
                ("httpRoute.parentRefs.name", json!([{"name": "a"}]), Nothing),
                ("httpRoute.parentRefs.namespace", json!([{"name": "a", "namespace": "b"}]), Nothing),
                ("httpRoute.parentRefs.sectionName", json!([{"name": "a", "sectionName": "https"}]), Nothing),
                ("httpRoute.hostnames", json!(["docs.example"]), Nothing),
                ("auth.apiKeysSecret", json!("key-a"), Settings),
                // The path in the settings stays the same.
                ("auth.apiKeysSecret", json!("key-b"), Pod),
                ("auth.modes", json!(["apiKey", "sessionToken", "jwt"]), Settings),
                ("auth.defaultAccess.read", json!(["group:staff"]), Settings),
                ("auth.defaultAccess.write", json!(["user:ann"]), Settings),
                ("auth.sessionToken.keyPrefix", json!("login:"), Settings),
                ("auth.jwt.issuer", issuers("https://a.example", "search", "https://a.example/keys"), Settings),
                ("auth.jwt.audience", issuers("https://a.example", "other", "https://a.example/keys"), Settings),
                ("auth.jwt.jwksUrl", issuers("https://a.example", "other", "https://b.example/keys"), Settings),
            ]),
        },
        Base {
            name: "vector-database",
            spec: json!({
                "postgres": {"url": "postgres://rag@postgres/rag"},
                "storage": {"vectorDB": {"engine": "weaviate", "url": "http://weaviate:8080"}},
            }),
            fields: fields(vec![
                ("storage.vectorDB.engine", json!("qdrant"), Settings),
                ("storage.vectorDB.url", json!("https://qdrant.example"), Settings),
                ("storage.vectorDB.accessSecret", json!("key-a"), Settings),
                // The path in the settings stays the same.
                ("storage.vectorDB.accessSecret", json!("key-b"), Pod),
                ("storage.vectorDB.replicationFactor", json!(3), Settings),
                ("storage.vectorDB.shards", json!(2), Settings),
            ]),
        },
        // A stopped engine has no autoscaler.
        Base {
            name: "autoscaled",
            spec: json!({"autoscaling": {"maxReplicas": 1}}),
            fields: fields(vec![
                ("autoscaling.targetCPUUtilizationPercentage", json!(60), Nothing),
                ("autoscaling.minReplicas", json!(1), Nothing),
                ("autoscaling.maxReplicas", json!(1), Nothing),
            ]),
        },
        Base {
            name: "made-claim",
            spec: json!({"storage": {"persistentVolume": {"size": "1Gi", "storageClassName": "none-such"}}}),
            fields: fields(vec![
                ("storage.persistentVolume.mountPath", json!("/data"), Settings),
                ("storage.deletionPolicy", json!("Delete"), Claim),
                ("storage.persistentVolume.size", json!("2Gi"), Refused),
            ]),
        },
        Base {
            name: "named-claim",
            spec: json!({"storage": {"persistentVolume": {"persistentVolumeClaim": "a"}}}),
            fields: fields(vec![("storage.persistentVolume.persistentVolumeClaim", json!("b"), Pod)]),
        },
        Base {
            name: "older-claim",
            spec: json!({"storage": {"persistentVolumeClaim": "a"}}),
            fields: fields(vec![
                ("storage.persistentVolumeClaim", json!("b"), Pod),
                ("storage.mountPath", json!("/data"), Settings),
            ]),
        },
    ]
}

/// The only further issuer of tokens.
fn issuers(issuer: &str, audience: &str, keys: &str) -> Value {
    json!([{"issuer": issuer, "audience": audience, "jwksUrl": keys}])
}

fn fields(list: Vec<(&str, Value, Effect)>) -> Vec<(String, Value, Effect)> {
    list.into_iter().map(|(field, value, changes)| (field.to_owned(), value, changes)).collect()
}

/// Changes of every field of a list of network destinations.
fn destinations(list: &str) -> Vec<(String, Value, Effect)> {
    let to =
        |field: &str, destination: Value| (format!("{list}.to.{field}"), json!([destination]), Effect::NetworkPolicy);
    let port = |field: &str, port: Value| to(&format!("ports.{field}"), json!({"podSelector": {}, "ports": [port]}));
    vec![
        to("namespaceSelector.matchLabels", json!({"namespaceSelector": {"matchLabels": {"team": "models"}}})),
        to("podSelector.matchLabels", json!({"podSelector": {"matchLabels": {"app": "vllm"}}})),
        to("ipBlock.cidr", json!({"ipBlock": {"cidr": "0.0.0.0/0"}})),
        to("ipBlock.except", json!({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}})),
        port("port", json!({"port": 8000})),
        port("endPort", json!({"port": 8000, "endPort": 8001})),
        port("protocol", json!({"port": 8000, "protocol": "UDP"})),
    ]
}
