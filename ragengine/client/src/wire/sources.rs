//! Sources and their synchronisations, with the limits of their fields.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Maximum number of errors in a record. `error_count` counts all of them.
pub const MAX_ERRORS: usize = 100;
/// Maximum length of an error's path, in characters.
pub const MAX_PATH_CHARACTERS: usize = 512;
/// Maximum length of an error's message, in characters.
pub const MAX_ERROR_CHARACTERS: usize = 500;
/// Maximum length of a record's message, in characters.
pub const MAX_MESSAGE_CHARACTERS: usize = 1000;
/// Maximum length of a revision of a document or a source, in bytes.
pub const MAX_REVISION_BYTES: usize = 256;
/// Maximum length of the confirmation of a deletion, in bytes.
pub const MAX_CONFIRMATION_BYTES: usize = 256;
/// Maximum length of the id of a synchronisation, in bytes.
pub const MAX_SYNC_ID_BYTES: usize = 256;
/// Maximum length of an owner's name and uid, in bytes.
pub const MAX_OWNER_BYTES: usize = 256;

/// What happens to a source when its owner is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenOwnerIsGone {
    /// The source and its documents are deleted.
    Delete,
    /// The source is kept. Unknown values of newer clients count as this one.
    #[default]
    #[serde(other)]
    Retain,
}

impl WhenOwnerIsGone {
    /// Whether the source is deleted with its owner.
    pub fn is_delete(self) -> bool {
        self == Self::Delete
    }
}

/// The owner of a source: an object that may be deleted while the server is not running.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct SourceOwner {
    /// The name of the owner. The names of its sources begin with it and a dot.
    pub name: String,
    /// The uid, which distinguishes owners of the same name.
    pub uid: String,
    /// The scope of the owner, such as the uid of the volume. Owners of other scopes are not checked.
    #[serde(default)]
    pub scope: String,
    /// What happens to the source when the owner is deleted.
    #[serde(default)]
    pub when_gone: WhenOwnerIsGone,
}

/// A file of a source that could not be read or indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileError {
    /// The path of the file in the source, at most 512 characters.
    pub path: String,
    /// The error message, at most 500 characters.
    pub message: String,
}

impl FileError {
    /// Creates an error, with path and message shortened to the limits of a record.
    pub fn shortened(path: &str, message: &str) -> Self {
        Self { path: beginning(path, MAX_PATH_CHARACTERS), message: beginning(message, MAX_ERROR_CHARACTERS) }
    }
}

/// Shortens a text to `max_characters`, ending with `…` if it was longer.
fn beginning(text: &str, max_characters: usize) -> String {
    match text.char_indices().nth(max_characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max_characters - 1).chain(['…']).collect(),
    }
}

/// The phase of a synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncPhase {
    /// The synchronisation is running.
    Running,
    /// The index holds the documents of the source, except for files with errors and deletions that were held back.
    Complete,
    /// The synchronisation failed.
    Failed,
}

/// The state of a synchronisation, as reported by the client that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PutSourceSync {
    /// The id of the synchronisation, 1 to 256 bytes. While one runs, the source is locked for others.
    pub sync_id: String,
    /// The phase.
    pub phase: SyncPhase,
    /// The owner of the source. Not set: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SourceOwner>,
    /// The revision of the source that the index holds, such as a commit: at most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Number of processed files.
    #[serde(default)]
    pub done: u64,
    /// Total number of files.
    #[serde(default)]
    pub total: u64,
    /// Number of documents whose deletion was held back until it is confirmed.
    #[serde(default)]
    pub held_back: u64,
    /// The value that confirms the deletion, at most 256 bytes. It is valid for this source in this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<String>,
    /// Number of files with errors.
    #[serde(default)]
    pub error_count: u64,
    /// The errors, at most 100 of them.
    #[serde(default, deserialize_with = "errors")]
    pub errors: Vec<FileError>,
    /// Why the synchronisation failed or the deletion was held back, at most 1,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The limit is higher than that of a record, so that a list that is somewhat too long gets a specific error message.
fn errors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<FileError>, D::Error> {
    ragengine_json::bounded_list(deserializer, 10 * MAX_ERRORS)
}

impl PutSourceSync {
    /// Creates a state with these values and defaults for the others.
    pub fn new(sync_id: impl Into<String>, phase: SyncPhase) -> Self {
        Self {
            sync_id: sync_id.into(),
            phase,
            owner: None,
            revision: None,
            done: 0,
            total: 0,
            held_back: 0,
            confirmation: None,
            error_count: 0,
            errors: Vec::new(),
            message: None,
        }
    }
}

/// The latest synchronisation of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceSync {
    /// The id of the synchronisation.
    pub sync_id: String,
    /// The phase. A synchronisation that was killed stays `running` until the next one begins or the server restarts.
    pub phase: SyncPhase,
    /// The owner of the source, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SourceOwner>,
    /// The revision of the source that the index holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Number of processed files.
    #[serde(default)]
    pub done: u64,
    /// Total number of files.
    #[serde(default)]
    pub total: u64,
    /// Number of documents whose deletion was held back until it is confirmed.
    #[serde(default)]
    pub held_back: u64,
    /// The value that confirms the deletion. It is valid for this source in this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<String>,
    /// Number of files with errors.
    #[serde(default)]
    pub error_count: u64,
    /// The errors, at most 100 of them.
    #[serde(default, deserialize_with = "errors")]
    pub errors: Vec<FileError>,
    /// Why the synchronisation failed or the deletion was held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Start time by the server's clock (RFC 3339).
    pub started_at: String,
    /// End time by the server's clock (RFC 3339). Missing while the synchronisation runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
}

/// A source of documents of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceDescription {
    /// The name of the source.
    pub name: String,
    /// Number of documents from this source.
    pub documents: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Total size of the documents' texts in bytes.
    pub bytes: u64,
    /// The latest synchronisation, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SourceSync>,
}

/// Selects sources of an index, and the number of errors shown for each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListSources {
    /// Only sources whose names begin with this value and a dot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Maximum number of errors shown for each source. Not set: all in its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<usize>,
}

/// The result of deleting a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedSource {
    /// Number of deleted documents.
    pub documents: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_shortened_to_the_limits_of_a_record() {
        for (given, path_characters, message_characters) in
            [(1, 1, 1), (500, 500, 500), (501, 501, 500), (600, 512, 500)]
        {
            let error = FileError::shortened(&"ä".repeat(given), &"ö".repeat(given));
            let characters = |text: &str| text.chars().count();
            assert_eq!((characters(&error.path), characters(&error.message)), (path_characters, message_characters));
            assert_eq!((error.path.ends_with('…'), error.message.ends_with('…')), (given > 512, given > 500));
        }
    }

    #[test]
    fn only_the_id_and_the_phase_are_required() {
        let read: PutSourceSync = serde_json::from_value(json!({"sync_id": "a", "phase": "running"})).unwrap();
        assert_eq!(read, PutSourceSync::new("a", SyncPhase::Running));
    }
}
