//! Sources and their synchronisations, and the bounds of what is said about them.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The most errors that a record has one by one. `error_count` counts all of them.
pub const MAX_ERRORS: usize = 100;
/// The longest path of an error, in characters.
pub const MAX_PATH_CHARACTERS: usize = 512;
/// The longest message of an error, in characters.
pub const MAX_ERROR_CHARACTERS: usize = 500;
/// The longest message of a record, in characters.
pub const MAX_MESSAGE_CHARACTERS: usize = 1000;
/// The longest revision of a document or a source, in bytes.
pub const MAX_REVISION_BYTES: usize = 256;
/// The longest word that confirms a deletion, in bytes.
pub const MAX_CONFIRMATION_BYTES: usize = 256;
/// The longest name of a synchronisation, in bytes.
pub const MAX_SYNC_ID_BYTES: usize = 256;
/// The longest name and uid of an owner, in bytes.
pub const MAX_OWNER_BYTES: usize = 256;

/// What becomes of a source when its owner is gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenOwnerIsGone {
    /// It is deleted with its documents.
    Delete,
    /// It stays, also where a newer client has another word.
    #[default]
    #[serde(other)]
    Retain,
}

impl WhenOwnerIsGone {
    /// Whether it is deleted then.
    pub fn is_delete(self) -> bool {
        self == Self::Delete
    }
}

/// Whose a source is: an object that may be deleted while the server is away.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct SourceOwner {
    /// Its name: that of its sources begins with it and a dot.
    pub name: String,
    /// Its uid: another one is another owner of the same name.
    pub uid: String,
    /// Where it is known, such as the uid of the volume: an owner of another place may be there still.
    #[serde(default)]
    pub scope: String,
    /// What becomes of the source when it is gone.
    #[serde(default)]
    pub when_gone: WhenOwnerIsGone,
}

/// A file of a source that could not be read or indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileError {
    /// Its path in the source, at most 512 characters.
    pub path: String,
    /// What is wrong with it, at most 500 characters.
    pub message: String,
}

impl FileError {
    /// An error with as much of the path and the message as a record takes.
    pub fn shortened(path: &str, message: &str) -> Self {
        Self { path: beginning(path, MAX_PATH_CHARACTERS), message: beginning(message, MAX_ERROR_CHARACTERS) }
    }
}

/// The text, or its beginning and a mark that it is one.
fn beginning(text: &str, max_characters: usize) -> String {
    match text.char_indices().nth(max_characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max_characters - 1).chain(['…']).collect(),
    }
}

/// How far a synchronisation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncPhase {
    /// It runs.
    Running,
    /// It has done what it could: the index holds what the source holds, but for the files with errors and what was held back.
    Complete,
    /// It could not be done.
    Failed,
}

/// What whoever synchronises a source says about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PutSourceSync {
    /// The name of the synchronisation, 1 to 256 bytes. While one runs, no other may have the source.
    pub sync_id: String,
    /// How far it is.
    pub phase: SyncPhase,
    /// Whose the source is. Not there: as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SourceOwner>,
    /// The revision of the source that the index holds, such as a commit: at most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How many of its files are done.
    #[serde(default)]
    pub done: u64,
    /// How many files there are.
    #[serde(default)]
    pub total: u64,
    /// How many documents would be deleted if it were confirmed.
    #[serde(default)]
    pub held_back: u64,
    /// What confirms it, at most 256 bytes: it is for this source in this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<String>,
    /// How many files had an error.
    #[serde(default)]
    pub error_count: u64,
    /// The errors, at most 100 of them.
    #[serde(default, deserialize_with = "errors")]
    pub errors: Vec<FileError>,
    /// Why it failed or was held back, at most 1,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// More are read than a record may have, so that one with too many is told so by its own words.
fn errors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<FileError>, D::Error> {
    ragengine_json::bounded_list(deserializer, 10 * MAX_ERRORS)
}

impl PutSourceSync {
    /// A record of which nothing is known yet but this.
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
    /// The name of the synchronisation.
    pub sync_id: String,
    /// How far it is. One that was killed stays `running` until the next one begins, or the server is started again.
    pub phase: SyncPhase,
    /// Whose the source is, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SourceOwner>,
    /// The revision of the source that the index holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How many of its files are done.
    #[serde(default)]
    pub done: u64,
    /// How many files there are.
    #[serde(default)]
    pub total: u64,
    /// How many documents would be deleted if it were confirmed.
    #[serde(default)]
    pub held_back: u64,
    /// What confirms it: it is for this source in this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<String>,
    /// How many files had an error.
    #[serde(default)]
    pub error_count: u64,
    /// The errors, at most 100 of them.
    #[serde(default, deserialize_with = "errors")]
    pub errors: Vec<FileError>,
    /// Why it failed or was held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it began, by the server's clock (RFC 3339).
    pub started_at: String,
    /// When it ended, by the server's clock (RFC 3339). Not there while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
}

/// A source of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceDescription {
    /// Its name.
    pub name: String,
    /// How many documents the index has of it.
    pub documents: u64,
    /// How many chunks they were cut into.
    pub chunks: u64,
    /// The size of the documents' texts in bytes.
    pub bytes: u64,
    /// Its latest synchronisation, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SourceSync>,
}

/// Which sources of an index are listed, and how much is said of each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListSources {
    /// Only those whose names begin with this and a dot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The most errors of each. Not there: all that its record has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<usize>,
}

/// What a source that was deleted had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedSource {
    /// How many documents were deleted with it.
    pub documents: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_as_long_as_a_record_takes() {
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
    fn only_who_and_how_far_has_to_be_said() {
        let read: PutSourceSync = serde_json::from_value(json!({"sync_id": "a", "phase": "running"})).unwrap();
        assert_eq!(read, PutSourceSync::new("a", SyncPhase::Running));
    }
}
