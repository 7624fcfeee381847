//! The custom resources RAGEngine and Index: their fields, descriptions, defaults, bounds and rules.
//!
//! `crdgen` generates the CustomResourceDefinitions in `crds/` and their reference in `docs/` from these types. The API
//! server validates objects by the bounds and CEL rules; the message of each rule says what to write instead.

mod condition;
mod definition;
mod descriptions;
mod index;
mod paused;
mod quantity;
mod rag_engine;
mod reference;
mod rules;
mod secret_keys;

pub use condition::{Condition, ConditionStatus, ConditionType, Reason};
pub use definition::{index_definition, rag_engine_definition};
pub use index::{
    CONFIRM_DELETE_ANNOTATION, ConfigMapSource, EngineRef, GitSource, HandledRequests, HttpSource, INDEX_FINALIZER,
    Index, IndexChunking, IndexDeletionPolicy, IndexSource, IndexSpec, IndexStatus, InlineFile, InlineSource, LastSync,
    ObjectStoreSource, Origin, SYNC_ANNOTATION, SourceError, SourceStatus, SyncResources, SyncResult, VolumeSource,
};
pub use paused::{PAUSED_ANNOTATION, is_paused};
pub use quantity::ResourceList;
pub use rag_engine::{
    AccessRules, Audit, Auth, AuthMode, Autoscaling, Backup, BackupBucket, BackupStatus, BackupVolume, Bootstrap,
    Cache, ChatStages, Citations, Compute, Condensing, ConfigMapReference, ContextFormat, Cors, DEFAULT_MOUNT_PATH,
    DefaultAccess, DeletionPolicy, Destination, DestinationPort, Diversity, Egress, Embedding, Endpoints, Events,
    Feedback, FilterRule, Guardrails, HistoryFormat, HttpRoute, Image, ImagePullPolicy, InferenceService, Ingress,
    Interactions, IpBlock, JwtIssuer, LabelSelector, Limits, LocalEmbedding, LocalReranker, NetworkPeer, NetworkPolicy,
    ParentReference, PersistentVolume, PipelineStages, PodTemplate, PodTemplateMetadata, Pooling, Postgres, Protocol,
    QueryStages, RAG_ENGINE_FINALIZER, RagEngine, RagEngineSpec, RagEngineStatus, Redis, RemoteEmbedding, Rerank,
    RerankBackend, Reranking, Resources, Restore, Retrieval, RetrievalMode, RetrieveStages, Rewrite, SessionStore,
    SessionToken, Sessions, StateStore, Storage, TEXT_LANGUAGES, Threshold, Tls, Tracing, VectorDatabase, Volume,
    WhenDown, Writes, is_access_rule,
};
pub use reference::{index_reference, rag_engine_reference};
pub use secret_keys::{
    EMBEDDING_ACCESS_SECRET, GUARDRAILS_POLICY, HF_TOKEN, LLM_ACCESS_SECRET, POSTGRES_ACCESS_SECRET,
    RABBITMQ_ACCESS_SECRET, REDIS_ACCESS_SECRET, RERANK_ACCESS_SECRET, TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY,
    VECTOR_DB_ACCESS_SECRET, WRITE_TOKEN,
};
