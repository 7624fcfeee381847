use tempfile::TempPath;

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The path in the source, with `/` between the parts; at most [400](crate::Item::MAX_PATH_BYTES) bytes.
    pub path: String,
    /// The revision of the content, if the listing has it.
    pub revision: Option<String>,
    /// The size in bytes, if the listing has it.
    pub size_bytes: Option<u64>,
}

impl Item {
    /// The maximum length of a path in bytes.
    pub const MAX_PATH_BYTES: usize = 400;
}

/// The result of fetching a file.
#[derive(Debug)]
pub enum Fetched {
    /// The file still has the known revision.
    Unchanged,
    /// The file does not exist.
    Gone,
    /// The file was fetched.
    File(FetchedFile),
}

/// A file in the work folder.
#[derive(Debug)]
pub struct FetchedFile {
    /// The path in the work folder. The file is deleted when this is dropped.
    pub path_on_disk: TempPath,
    /// The revision of the content; at most 256 bytes.
    pub revision: String,
    /// The content type from the server, such as `text/html; charset=utf-8`.
    pub content_type: Option<String>,
    /// The URL where a reader finds the file.
    pub url: Option<String>,
    /// The time of modification, as in RFC 3339.
    pub modified: Option<String>,
}
