use std::time::Duration;

use ragengine_embedding::Error as EmbeddingError;

use super::archive::ArchiveError;
use super::chunking::ChunkingError;
use super::filter::FilterError;
use super::name::InvalidName;
use super::persisted::PersistedError;
use super::sources::Held;
use super::store::StoreError;

/// Why an index does not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A name that no index can have.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// There is no index of this name.
    #[error("No such index: '{0}' exists.")]
    NoSuchIndex(String),
    /// There are as many indexes as there may be.
    #[error("there are {0} indexes already, which is the limit: delete one, or raise limits.maxIndexes")]
    TooMany(u32),
    /// The index was made with another embedding model.
    #[error(
        "index '{index}' was made with the embedding model {made_with}, and this server now uses {in_use}: \
         set the model back, or delete the index and add its documents again"
    )]
    OtherModel {
        /// The index.
        index: String,
        /// Its model.
        made_with: String,
        /// The server's model.
        in_use: String,
    },
    /// What would be made is there already.
    #[error("index '{}' exists: overwrite=true puts the copy in its place", .0.join("', '"))]
    Exists(Vec<String>),
    /// A persisted copy is of one index.
    #[error("the persisted copy '{copy}' holds {indexes} indexes: `ragengine restore` restores all of them")]
    ManyIndexes {
        /// The copy.
        copy: String,
        /// How many it holds.
        indexes: usize,
    },
    /// Only one index is to be restored.
    #[error("there is no index '{index}' in the backup: it has '{}'", .indexes.join("', '"))]
    NotInCopy {
        /// The index.
        index: String,
        /// Those that are in it.
        indexes: Vec<String>,
    },
    /// The backup or the persisted copy cannot be used.
    #[error("the copy cannot be used: {0}")]
    Archive(#[from] ArchiveError),
    /// There is no persisted copy to read or write.
    #[error(transparent)]
    Persisted(#[from] PersistedError),
    /// The model that made the index's vectors is not the server's, and not at hand.
    #[error("index '{index}' was made with the embedding model {model}, which cannot be used: {reason}. {progress}")]
    ModelMissing {
        /// The index.
        index: String,
        /// Its model.
        model: String,
        /// Why it is not there.
        reason: String,
        /// How far the next generation is.
        progress: String,
    },
    /// Another has taken the index's place, a later generation or a copy: whoever writes looks it up again.
    #[error("index '{0}' was replaced meanwhile, by its next generation or a copy: try again")]
    Superseded(String),
    /// Writers change an index faster than its next generation can follow.
    #[error("documents change faster than the next generation can follow: it goes on when they rest")]
    StillChanging,
    /// No next generation is being built.
    #[error("index '{0}' has no next generation: nothing is being built")]
    NoGeneration(String),
    /// Another synchronisation has the source.
    #[error(transparent)]
    SourceHeld(#[from] Held),
    /// A document that cannot be what it says.
    #[error("document {position}: {reason}")]
    Document {
        /// Its place in the request, from 0.
        position: usize,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A document that is not cut within its time.
    #[error(
        "document '{doc_id}' takes longer to cut than the {} s that it may: split it, send it with another split_type, or raise \
         limits.cutTimeoutSeconds",
        .limit.as_secs_f64().ceil()
    )]
    SlowDocument {
        /// Its id.
        doc_id: String,
        /// The time that it had.
        limit: Duration,
    },
    /// A filter that cannot be applied.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A document that cannot be cut.
    #[error(transparent)]
    Chunking(#[from] ChunkingError),
    /// No vectors could be had.
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// FAISS refused.
    #[error("the vector index refused: {0}")]
    Vectors(#[from] ragengine_faiss::Error),
    /// The disk refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is on disk cannot be found yet.
    #[error(
        "index '{index}' cannot show yet what is on its disk: {reason}. That is tried again by itself; what was sent may be there already, \
         and may be sent again"
    )]
    NotShown {
        /// The index.
        index: String,
        /// Why.
        reason: String,
    },
    /// The index is there and cannot be used.
    #[error("index '{index}' cannot be used now: {reason}")]
    Unavailable {
        /// The index.
        index: String,
        /// What is wrong, and what can be done.
        reason: String,
    },
    /// The embedder's vectors are not what the index holds.
    #[error("the embedding model gave {0}")]
    OtherVectors(String),
    /// The work was given up because the server stops.
    #[error("the server is shutting down")]
    ShuttingDown,
}

impl IndexError {
    /// A short name for labels.
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
            Self::OtherVectors(_) => "other_vectors",
            Self::ShuttingDown => "shutting_down",
        }
    }
}
