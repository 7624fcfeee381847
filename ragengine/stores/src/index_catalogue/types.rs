use std::time::Duration;

/// An index to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIndex {
    /// Its name, which is of one index of the engine only.
    pub name: String,
    /// The id of its store, a UUID.
    pub store_id: String,
    /// What is known about it, as JSON.
    pub record: String,
    /// What is known about its embedding model, as JSON.
    pub embedding: Option<String>,
}

/// An index of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueIndex {
    /// Its name.
    pub name: String,
    /// Its number, which no other index of the database gets, not even a later one of the same name.
    pub number: i64,
    /// The id of its store, a UUID.
    pub store_id: String,
    /// What is known about it, as JSON.
    pub record: String,
    /// What is known about its embedding model, as JSON.
    pub embedding: Option<String>,
    /// The counter of its changes. It only rises, also when the index is deleted and made again.
    pub changes: i64,
    /// Whether it is being changed, so that the counter says nothing about what a reader sees.
    pub is_changing: bool,
}

/// The beginning of a creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// The index is being made: by this call, or by an earlier one that was not finished, and whose record it has then.
    /// Whoever gets it completes it.
    Made(CatalogueIndex),
    /// The index is ready.
    There(CatalogueIndex),
    /// There are as many indexes as allowed.
    TooMany,
}

/// What became of staged indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// They are shown. These were replaced, and are being deleted.
    Done(Vec<CatalogueIndex>),
    /// There are indexes of these names.
    Exists(Vec<String>),
    /// There would be more indexes than allowed.
    TooMany,
}

/// How far a source of an index is synchronised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSyncRow {
    /// The source's name.
    pub source: String,
    /// The state of its synchronisation, as JSON.
    pub sync: String,
    /// When its latest synchronisation began, in milliseconds since 1970.
    pub began_ms: i64,
    /// Until when a server has it for itself, in milliseconds since 1970.
    pub leased_until_ms: Option<i64>,
}

/// What is known about an index that a server begins to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// How long ago the index was first found without a document. None if the latest sweep found documents, or nothing
    /// that lacks one.
    pub without_documents_for: Option<Duration>,
}

/// The end of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    /// All of the index was looked at.
    Whole,
    /// The index has chunks or texts, but no document.
    WithoutDocuments,
    /// The sweep was not finished, and should be repeated soon.
    Failed,
}
