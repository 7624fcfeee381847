mod auth;
mod compute;
mod cors;
mod egress;
mod embedding;
mod guardrails;
mod image;
mod inference_service;
mod network_policy;
mod pod;
mod retrieval;
mod status;
mod storage;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use auth::{Auth, Writes};
pub use compute::{Compute, LabelSelector};
pub use cors::Cors;
pub use egress::{Destination, DestinationPort, Egress, IpBlock, Protocol};
pub use embedding::{Embedding, LocalEmbedding, Pooling, RemoteEmbedding};
pub use guardrails::{ConfigMapReference, Guardrails};
pub use image::{Image, ImagePullPolicy};
pub use inference_service::InferenceService;
pub use network_policy::{NetworkPeer, NetworkPolicy};
pub use pod::{PodTemplate, PodTemplateMetadata, Resources};
pub use retrieval::Retrieval;
pub use status::RagEngineStatus;
pub use storage::{DEFAULT_MOUNT_PATH, DeletionPolicy, PersistentVolume, Storage, VectorDatabase, Volume};

/// What a RAGEngine is to be.
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
    doc = "A server that answers questions from documents over the OpenAI API, behind a Service of the same name.",
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
    // Not 63: pods and the claim are named after it, with something behind. A Service's name begins with a letter.
    validation = Rule::new("self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message("metadata.name must be at most 50 characters, lower case letters, digits and '-', begin with a letter and end with a letter or digit, because the Service has the same name: for example docs")
)]
#[serde(rename_all = "camelCase")]
// At this level, because a rule below does not run when what it stands at is removed.
#[x_kube(validation = Rule::new("!(has(oldSelf.storage) && has(oldSelf.storage.persistentVolume) && has(oldSelf.storage.persistentVolume.size)) || (has(self.storage) && has(self.storage.persistentVolume) && has(self.storage.persistentVolume.size))")
    .message("storage.persistentVolume.size cannot be taken away, because the indexes are on that volume: keep it, or make another RAGEngine that names the claim in storage.persistentVolume.persistentVolumeClaim"))]
pub struct RagEngineSpec {
    /// How many pods serve: 1, or 0, which stops the engine and keeps its volume.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1000))]
    #[x_kube(validation = Rule::new("self <= 1").message("replicas must be 0 or 1, because the indexes are kept on the pod's own volume: make several RAGEngines to share the load"))]
    pub replicas: u32,
    /// Which model turns text into vectors: one that the engine runs itself, or a remote one. Not set: the one that is in the image.
    // Without a default in the definition: one would be kept beside the `remote` that is applied later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Embedding>,
    /// The language model that answers. Without its `url` the built-in model `extractive` does: it quotes the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inference_service: Option<InferenceService>,
    /// What is looked for in answers. It is accepted, and nothing is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrails: Option<Guardrails>,
    /// Where the indexes are kept. Not set: on the node, until the pod is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// What a chat takes from an index.
    #[serde(default)]
    pub retrieval: Retrieval,
    /// Who may do what.
    #[serde(default)]
    pub auth: Auth,
    /// Which pages of other sites may use the server from a browser. Not set: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
    /// The names that the server may be called by besides those of its Service, `localhost` and addresses, without ports. Empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_hosts: Vec<String>,
    /// Who may reach the server, and what it may reach. Not set: everybody in the cluster, and everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicy>,
    /// The server's image.
    #[serde(default)]
    pub image: Image,
    /// What the server's container is given, and what it may use at most.
    #[serde(default)]
    pub resources: Resources,
    /// The nodes that the pod may run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<Compute>,
    /// What the pod has besides: it is merged over what the operator makes, as a strategic merge patch is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PodTemplate>,
}

impl Default for RagEngineSpec {
    /// What `spec: {}` means.
    fn default() -> Self {
        Self {
            replicas: one(),
            embedding: None,
            inference_service: None,
            guardrails: None,
            storage: None,
            retrieval: Retrieval::default(),
            auth: Auth::default(),
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
    /// The embedding model that is meant: where none is named, the one that is in the image.
    pub fn embedding(&self) -> Embedding {
        self.embedding.clone().unwrap_or_default()
    }
}

fn one() -> u32 {
    1
}
