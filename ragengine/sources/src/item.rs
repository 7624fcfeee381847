use tempfile::TempPath;

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it is in its source, with `/` between the parts; at most [400](crate::Item::MAX_PATH_BYTES) bytes.
    pub path: String,
    /// Which content it has, as far as the listing says that.
    pub revision: Option<String>,
    /// How long it is, as far as the listing says that.
    pub size_bytes: Option<u64>,
}

impl Item {
    /// The longest path in bytes.
    pub const MAX_PATH_BYTES: usize = 400;
}

/// What became of a file that was asked for.
#[derive(Debug)]
pub enum Fetched {
    /// It is what is known.
    Unchanged,
    /// It is not there any more.
    Gone,
    /// Its content.
    File(FetchedFile),
}

/// The content of a file.
#[derive(Debug)]
pub struct FetchedFile {
    /// Where it lies until this is dropped.
    pub path_on_disk: TempPath,
    /// Which content this is; at most 256 bytes.
    pub revision: String,
    /// What the server says it is, such as `text/html; charset=utf-8`.
    pub content_type: Option<String>,
    /// Where a reader finds it.
    pub url: Option<String>,
    /// When it was changed, as RFC 3339 writes it.
    pub modified: Option<String>,
}
