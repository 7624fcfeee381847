/// Why an operation on the vector database failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorDatabaseError {
    /// The address or the key cannot be used. The text quotes neither.
    #[error("{setting} is invalid: {reason}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The database is out of reach.
    #[error("the vector database cannot be reached: {0}")]
    Unreachable(String),
    /// The database did not answer in time. A change may have been made nevertheless.
    #[error("the vector database did not answer in time")]
    Timeout,
    /// The database, or too many of its nodes, cannot work now.
    #[error("the vector database cannot be used now: it answered with status {status}: {message}")]
    Unavailable {
        /// The status: of HTTP from Weaviate, of gRPC from Qdrant.
        status: u16,
        /// Its message.
        message: String,
    },
    /// The database refused a request.
    #[error("the vector database refused the request with status {status}: {message}")]
    Refused {
        /// The status: of HTTP from Weaviate, of gRPC from Qdrant.
        status: u16,
        /// Its message.
        message: String,
    },
    /// The database refused a query.
    #[error("the vector database did not answer the query: {0}")]
    Query(String),
    /// Some objects were not stored.
    #[error("the vector database did not store {failed} of {of} objects: {reason}")]
    NotStored {
        /// How many were not stored.
        failed: usize,
        /// How many there were.
        of: usize,
        /// Why the first one was not stored.
        reason: String,
    },
    /// Some objects were not deleted.
    #[error("the vector database did not delete {0} objects: try again")]
    NotDeleted(u64),
    /// A replica was away, so that lists may lack what it missed.
    #[error("a replica of the vector database was away, and lists may lack documents that it missed: try again")]
    ReplicaMissing,
    /// A reply is longer than a reply may be.
    #[error("the reply of the vector database has more than {max_bytes} bytes")]
    LongReply {
        /// The most bytes of a reply.
        max_bytes: usize,
    },
    /// A reply is not as it should be.
    #[error("the reply of the vector database is not as expected: {0}")]
    Reply(String),
    /// The database has a version that lacks what is needed.
    #[error("the vector database has version {version}: version {least} or newer is needed")]
    Version {
        /// Its version.
        version: String,
        /// The first version that has it.
        least: &'static str,
    },
    /// The index is not in the database.
    #[error("index '{0}' is not in the vector database")]
    NoSuchIndex(String),
    /// A sweep found old chunks or texts that it cannot compare with documents.
    #[error("the index has old chunks or texts, but {0}: they are kept")]
    Unowned(&'static str),
    /// The name of the index is too long for the database.
    #[error("index '{0}' has a name that is too long for the vector database")]
    LongName(String),
    /// A vector cannot be stored or searched for.
    #[error("a vector is empty or has values that are not finite numbers")]
    Vector,
    /// The metadata of a document has more values than can be searched.
    #[error("the metadata of document '{doc_id}' has {values} values, which is more than {most}")]
    ManyValues {
        /// The document's id.
        doc_id: String,
        /// How many values it has.
        values: usize,
        /// The most values.
        most: usize,
    },
    /// The values of a document's metadata are too long to be compared in filters.
    #[error(
        "the metadata of document '{doc_id}' is too long: its values have {hashes} hashes, which is more than {most}"
    )]
    LongValues {
        /// The document's id.
        doc_id: String,
        /// How many hashes its values have.
        hashes: usize,
        /// The most hashes.
        most: usize,
    },
    /// A filter compares with a long text.
    #[error(
        "the metadata filter compares '{key}' with a text of {bytes} bytes: the vector database compares at most {most}"
    )]
    LongComparison {
        /// The key of the metadata.
        key: String,
        /// The length of the text, in bytes.
        bytes: usize,
        /// The longest text that can be compared, in bytes.
        most: usize,
    },
    /// A filter has too many conditions for the database.
    #[error("the metadata filter becomes {conditions} conditions of the vector database, which is more than {most}")]
    ManyConditions {
        /// How many conditions it becomes.
        conditions: usize,
        /// The most conditions.
        most: usize,
    },
}

impl VectorDatabaseError {
    /// The error's kind, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Setting { .. } => "invalid_setting",
            Self::Unreachable(_) => "unreachable",
            Self::Timeout => "timeout",
            Self::Unavailable { .. } => "unavailable",
            Self::Refused { .. } => "refused",
            Self::Query(_) => "query",
            Self::NotStored { .. } => "not_stored",
            Self::NotDeleted(_) => "not_deleted",
            Self::ReplicaMissing => "replica_missing",
            Self::LongReply { .. } => "long_reply",
            Self::Reply(_) => "bad_reply",
            Self::Version { .. } => "version",
            Self::NoSuchIndex(_) => "no_such_index",
            Self::Unowned(_) => "unowned",
            Self::LongName(_) => "long_name",
            Self::Vector => "vector",
            Self::ManyValues { .. } => "many_values",
            Self::LongValues { .. } => "long_values",
            Self::LongComparison { .. } => "long_comparison",
            Self::ManyConditions { .. } => "many_conditions",
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::Timeout
                | Self::Unavailable { .. }
                | Self::NotStored { .. }
                | Self::NotDeleted(_)
                | Self::ReplicaMissing
        )
    }
}
