mod audit;
mod auth;
mod autoscaling;
mod backup;
mod cache;
mod chat;
mod citations;
mod compute;
mod cors;
mod egress;
mod embedding;
mod endpoints;
mod events;
mod feedback;
mod guardrails;
mod http_route;
mod image;
mod inference_service;
mod ingress;
mod interactions;
mod limits;
mod network_policy;
mod pod;
mod postgres;
mod query;
mod redis;
mod rerank;
mod retrieval;
mod rewrite;
mod sessions;
mod state_store;
mod status;
mod storage;
mod tls;
mod tracing;
mod vector_database;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::rules::{
    INDEX_NAME, POSTGRES, REDIS, external, model_is_allowed, outside_needs_auth, several, store_needs_url,
};

pub use audit::Audit;
pub use auth::{AccessRules, Auth, AuthMode, DefaultAccess, JwtIssuer, SessionToken, Writes, is_access_rule};
pub use autoscaling::Autoscaling;
pub use backup::{Backup, BackupBucket, BackupVolume, Bootstrap, Restore};
pub use cache::Cache;
pub use chat::ChatStages;
pub use citations::Citations;
pub use compute::{Compute, LabelSelector};
pub use cors::Cors;
pub use egress::{Destination, DestinationPort, Egress, IpBlock, Protocol};
pub use embedding::{Embedding, LocalEmbedding, Pooling, RemoteEmbedding};
pub use endpoints::{
    Condensing, ContextFormat, Diversity, Endpoints, PipelineStages, Reranking, RetrievalMode, RetrieveStages,
};
pub use events::Events;
pub use feedback::Feedback;
pub use guardrails::{ConfigMapReference, Guardrails};
pub use http_route::{HttpRoute, ParentReference};
pub use image::{Image, ImagePullPolicy};
pub use inference_service::InferenceService;
pub use ingress::Ingress;
pub use interactions::Interactions;
pub use limits::Limits;
pub use network_policy::{NetworkPeer, NetworkPolicy};
pub use pod::{PodTemplate, PodTemplateMetadata, Resources};
pub use postgres::Postgres;
pub use query::QueryStages;
pub use redis::Redis;
pub use rerank::{LocalReranker, Rerank, RerankBackend};
pub use retrieval::{FilterRule, Retrieval, TEXT_LANGUAGES, Threshold};
pub use rewrite::Rewrite;
pub use sessions::{HistoryFormat, SessionStore, Sessions, WhenDown};
pub use state_store::StateStore;
pub use status::{BackupStatus, RagEngineStatus};
pub use storage::{DEFAULT_MOUNT_PATH, DeletionPolicy, PersistentVolume, Storage, Volume};
pub use tls::Tls;
pub use tracing::Tracing;
pub use vector_database::VectorDatabase;

/// The finalizer of a RAGEngine that has NodeClaims. They are in no namespace, so Kubernetes does not delete them with it.
pub const RAG_ENGINE_FINALIZER: &str = "ragengine.dev/node-claims";

/// Desired state of a RAGEngine.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "ragengine.dev",
    version = "v1alpha1",
    kind = "RAGEngine",
    root = "RagEngine",
    plural = "ragengines",
    shortname = "rag",
    category = "ragengine-all",
    namespaced,
    status = "RagEngineStatus",
    derive = "PartialEq",
    doc = "A server that answers questions from documents through the OpenAI API, behind a Service of the same name.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Indexes", type_ = "integer", json_path = ".status.indexes"),
    printcolumn(name = "Documents", type_ = "integer", json_path = ".status.documents"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.endpoint", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    // Shorter than the usual 63 characters because the names of pods and of the claim are this name plus a suffix. The
    // name of a Service begins with a letter.
    validation = Rule::new(
        "self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
    )
    .message(
        "metadata.name must be at most 50 characters, contain only lower case letters, digits and '-', begin with a \
         letter and end with a letter or digit, because the Service has the same name: for example docs"
    )
)]
#[serde(rename_all = "camelCase")]
// The first rule is on the whole spec because a rule on `storage` does not run when `storage` is removed, the others
// because they compare sections.
#[x_kube(
    validation = external::keeps_its_claim(),
    validation = Rule::new(
        "!has(self.bootstrap) || (has(oldSelf.bootstrap) && self.bootstrap == oldSelf.bootstrap)"
    )
    .message(
        "bootstrap cannot be added or changed, because it applies only to a new engine: remove it, or create another \
         RAGEngine"
    ),
    validation = external::needs_postgres(),
    validation = external::has_no("backup", "save the indexes"),
    validation = external::has_no("bootstrap", "restore the indexes"),
    validation = several::external(),
    validation = several::sessions(),
    validation = several::feedback(),
    validation = several::interactions(),
    validation = several::no_volume(),
    validation = store_needs_url("feedback", POSTGRES, "redb"),
    validation = store_needs_url("interactions", POSTGRES, "redb"),
    validation = store_needs_url("sessions", POSTGRES, "memory"),
    validation = store_needs_url("sessions", REDIS, "memory"),
    validation = Rule::new(
        "!has(self.auth) || !has(self.auth.modes) || !self.auth.modes.exists(mode, mode == 'sessionToken') || \
         (has(self.redis) && has(self.redis.url))"
    )
    .message(
        "auth.modes: sessionToken needs redis.url: write the address of the server with the sessions there, such as \
         redis://redis.cache.svc:6379, or remove the mode"
    ),
    validation = outside_needs_auth("ingress"),
    validation = outside_needs_auth("httpRoute"),
    validation = model_is_allowed("rewrite", None),
    validation = model_is_allowed("rerank", Some("(has(self.rerank.backend) && self.rerank.backend != 'llm')")),
)]
pub struct RagEngineSpec {
    /// Number of pods, or 0 to stop the engine and keep its volume. More than 1 needs `storage.vectorDB.engine:
    /// weaviate` or `qdrant`, and stores of `sessions`, `feedback` and `interactions` that the pods share. With
    /// `autoscaling`, other numbers than 0 have no effect. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: u32,
    /// Number of pods that follows their load. Default: `replicas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// Embedding model that turns text into vectors: `local` runs in the engine, `remote` is an endpoint. Exactly one
    /// of the two is required. Default: the local model in the image.
    // The schema has no default: a defaulted `local` would remain when `remote` is applied later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Embedding>,
    /// Language model that generates the answers. Default: the built-in model `extractive`, which quotes the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inference_service: Option<InferenceService>,
    /// Checks of all answers by a policy. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrails: Option<Guardrails>,
    /// Storage of the indexes. Default: ephemeral storage on the node, deleted with the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Regular backups. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    /// How an engine with an empty data folder begins. It can be removed, and not be added or changed later. Default:
    /// without indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
    /// How a chat retrieves chunks from an index.
    #[serde(default)]
    pub retrieval: Retrieval,
    /// How questions are rewritten before they are searched for. Default: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<Rewrite>,
    /// How a model puts the best chunks in order. The fields `rerank` of `endpoints` say when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<Rerank>,
    /// PostgreSQL database, for the stores that use one. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<Postgres>,
    /// Redis server, for the stores that use one. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<Redis>,
    /// Index of `/query` for requests that name none. Default: the only index that the caller may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = INDEX_NAME))]
    pub default_index: Option<String>,
    /// Conversations of `/query`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
    /// Votes on answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// Earlier questions and their answers, as context for similar questions. The fields `interactions` of `endpoints`
    /// say where they are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions: Option<Interactions>,
    /// Answers that are given again to the same question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// Citations of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Citations>,
    /// Events about questions and answers, published on RabbitMQ. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// Which stages of the pipeline each endpoint of the server has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<Endpoints>,
    /// Access control.
    #[serde(default)]
    pub auth: Auth,
    /// Whether `ingress` and `httpRoute` may let clients in without `auth.modes`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_anonymous: Option<bool>,
    /// Record of who did what. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// Traces of requests. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// Limits on requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// TLS between clients and the server. Default: plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Ingress that lets clients from outside of the cluster reach the Service. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// HTTPRoute of the Gateway API that lets clients reach the Service. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route: Option<HttpRoute>,
    /// Web pages of other origins that may call the server from a browser (CORS). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
    /// Host names, without port, that requests may use in addition to the names of the Service, `localhost` and IP
    /// addresses. Requests for other hosts are rejected. Default: any host is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_hosts: Vec<String>,
    /// Restrictions on network traffic of the server and of the Jobs of its Indexes. Requires a network plugin that
    /// enforces NetworkPolicies. Default: all traffic is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicy>,
    /// Container image of the server. Default: the image that the operator was installed with.
    #[serde(default)]
    pub image: Image,
    /// CPU and memory of the server's container.
    #[serde(default)]
    pub resources: Resources,
    /// Nodes that the pod may run on. Default: any node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<Compute>,
    /// Additions to the pod, applied as a strategic merge patch to the pod that the operator generates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PodTemplate>,
}

impl Default for RagEngineSpec {
    /// The value of `spec: {}`.
    fn default() -> Self {
        Self {
            replicas: one(),
            autoscaling: None,
            embedding: None,
            inference_service: None,
            guardrails: None,
            storage: None,
            backup: None,
            bootstrap: None,
            retrieval: Retrieval::default(),
            rewrite: None,
            rerank: None,
            postgres: None,
            redis: None,
            default_index: None,
            sessions: None,
            feedback: None,
            interactions: None,
            cache: None,
            citations: None,
            events: None,
            endpoints: None,
            auth: Auth::default(),
            allow_anonymous: None,
            audit: None,
            tracing: None,
            limits: None,
            tls: None,
            ingress: None,
            http_route: None,
            cors: None,
            allowed_hosts: Vec::new(),
            network_policy: None,
            image: Image::default(),
            resources: Resources::default(),
            compute: None,
            pod_template: None,
        }
    }
}

impl RagEngineSpec {
    /// The embedding model: the configured one, otherwise the local model in the image.
    pub fn embedding(&self) -> Embedding {
        self.embedding.clone().unwrap_or_default()
    }

    /// Whether the indexes are in an external vector database.
    pub fn is_external(&self) -> bool {
        self.storage.as_ref().is_some_and(|storage| storage.external_database().is_some())
    }

    /// The autoscaling, unless the engine is stopped.
    pub fn autoscaling(&self) -> Option<Autoscaling> {
        self.autoscaling.filter(|_| self.replicas > 0)
    }

    /// The fewest and the most pods that are as asked for.
    pub fn pods(&self) -> (u32, u32) {
        self.autoscaling().map_or((self.replicas, self.replicas), |scaled| (scaled.min_replicas, scaled.max_replicas))
    }
}

fn one() -> u32 {
    1
}
