use std::time::Duration;

use ragengine_embedding::Error as EmbeddingError;
use ragengine_errors::Fault;

use super::archive::ArchiveError;
use super::chunking::ChunkingError;
use super::name::InvalidName;
use super::persisted::PersistedError;
use super::sources::Held;
use super::store::StoreError;
use ragengine_pipeline::filter::FilterError;

/// The most characters of a name in an error. A caller may send a name of any length.
const MAX_SHOWN_CHARACTERS: usize = 128;

/// The beginning of a name. Valid names are shorter.
fn shortened(name: &str) -> &str {
    name.char_indices().nth(MAX_SHOWN_CHARACTERS).map_or(name, |(end, _)| &name[..end])
}

/// Why an operation on an index failed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The name is not valid for an index.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// There is no index of this name.
    #[error("No such index: '{}' exists.", shortened(.0))]
    NoSuchIndex(String),
    /// The limit on the number of indexes is reached.
    #[error("there are {0} indexes already, which is the limit: delete one, or raise limits.maxIndexes")]
    TooMany(u32),
    /// The index was made with another embedding model.
    #[error(
        "index '{index}' was made with the embedding model {made_with}, but this server uses {in_use}: set the model \
         back, or delete the index and add its documents again"
    )]
    OtherModel {
        /// The name of the index.
        index: String,
        /// The index's model and its dimensions.
        made_with: String,
        /// The server's model and its dimensions.
        in_use: String,
    },
    /// Indexes of these names exist.
    #[error("index '{}' exists: use overwrite=true to replace it by the copy", .0.join("', '"))]
    Exists(Vec<String>),
    /// A persisted copy must hold one index.
    #[error("the persisted copy '{copy}' holds {indexes} indexes: `ragengine restore` restores all of them")]
    ManyIndexes {
        /// The name of the copy.
        copy: String,
        /// The number of indexes that it holds.
        indexes: usize,
    },
    /// The index to restore is not in the backup.
    #[error("there is no index '{index}' in the backup: it has '{}'", .indexes.join("', '"))]
    NotInCopy {
        /// The name of the index.
        index: String,
        /// The indexes in the backup.
        indexes: Vec<String>,
    },
    /// The backup or the persisted copy cannot be used.
    #[error("the copy cannot be used: {0}")]
    Archive(#[from] ArchiveError),
    /// The persisted copy cannot be read or written.
    #[error(transparent)]
    Persisted(#[from] PersistedError),
    /// The index was made with another model than the server's, and that model is not available.
    #[error("index '{index}' was made with the embedding model {model}, which cannot be used: {reason}. {progress}")]
    ModelMissing {
        /// The name of the index.
        index: String,
        /// The index's model.
        model: String,
        /// Why the model is not available.
        reason: String,
        /// The progress of the next generation.
        progress: String,
    },
    /// The index was replaced by a later generation or a copy. Callers look it up again and retry.
    #[error("index '{0}' was replaced by its next generation or a copy during the request: try again")]
    Superseded(String),
    /// Writers change the index faster than its next generation can follow.
    #[error("documents change faster than the next generation can follow: it continues when there are fewer writes")]
    StillChanging,
    /// No next generation is being built.
    #[error("index '{0}' has no next generation: nothing is being built")]
    NoGeneration(String),
    /// Another synchronisation has the source.
    #[error(transparent)]
    SourceHeld(#[from] Held),
    /// A document is invalid.
    #[error("document {position}: {reason}")]
    Document {
        /// Its position in the request, from 0.
        position: usize,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A document could not be split within its time.
    #[error(
        "splitting document '{doc_id}' takes longer than the limit of {} s: split it, send it with another split_type, \
         or raise limits.cutTimeoutSeconds",
        .limit.as_secs_f64().ceil()
    )]
    SlowDocument {
        /// The document's id.
        doc_id: String,
        /// The time limit.
        limit: Duration,
    },
    /// The filter is invalid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A document could not be split.
    #[error(transparent)]
    Chunking(#[from] ChunkingError),
    /// The embedding model failed.
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// FAISS failed.
    #[error("the vector index failed: {0}")]
    Vectors(#[from] ragengine_faiss::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The change may be durable, but searches do not find it yet.
    #[error(
        "the latest changes of index '{index}' cannot be shown yet: {reason}. That is retried automatically; this \
         change may have been saved, and may be sent again"
    )]
    NotShown {
        /// The name of the index.
        index: String,
        /// The reason.
        reason: String,
    },
    /// The index exists but is unavailable.
    #[error("index '{index}' cannot be used now: {reason}")]
    Unavailable {
        /// The name of the index.
        index: String,
        /// The problem, and what the user can do.
        reason: String,
    },
    /// A vector engine outside of the server failed, or the database with its list of indexes.
    #[error("{0}")]
    Engine(Box<dyn Fault>),
    /// The vector engine cannot do this.
    #[error("{0}")]
    NotPossible(&'static str),
    /// The embedding model's vectors do not fit the index.
    #[error("the embedding model returned {0}")]
    OtherVectors(String),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
}

impl IndexError {
    /// The error's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Name(_) => "invalid_name",
            Self::NoSuchIndex(_) => "no_such_index",
            Self::TooMany(_) => "too_many_indexes",
            Self::OtherModel { .. } => "other_model",
            Self::Exists(_) => "index_exists",
            Self::ManyIndexes { .. } => "many_indexes",
            Self::NotInCopy { .. } => "not_in_copy",
            Self::Archive(error) => error.kind(),
            Self::Persisted(error) => error.kind(),
            Self::ModelMissing { .. } => "model_missing",
            Self::Superseded(_) => "superseded",
            Self::StillChanging => "still_changing",
            Self::NoGeneration(_) => "no_generation",
            Self::SourceHeld(_) => "source_held",
            Self::Document { .. } => "invalid_document",
            Self::SlowDocument { .. } => "slow_document",
            Self::Filter(_) => "invalid_filter",
            Self::Chunking(_) => "chunking",
            Self::Embedding(error) => error.kind(),
            Self::Vectors(_) => "vectors",
            Self::Store(error) => error.kind(),
            Self::NotShown { .. } => "not_shown",
            Self::Unavailable { .. } => "index_unavailable",
            Self::Engine(error) => error.kind(),
            Self::NotPossible(_) => "not_possible",
            Self::OtherVectors(_) => "other_vectors",
            Self::ShuttingDown => "shutting_down",
        }
    }
}
