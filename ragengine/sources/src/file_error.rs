/// An error about one part of a source's listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The path, as an item's, or a shortened one that no item can have. A folder's path ends with a slash.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// The part of the source that is unknown because of the error.
    pub extent: Extent,
}

/// The part of a source that an error of its listing is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Only the entry with exactly this path. It can never be read under this name, so the error is a part of the source's revision.
    Itself,
    /// Everything below this folder. The next synchronisation may be able to list it.
    Below,
    /// The whole source. The listing may be incomplete, and the missing files are not known.
    Everything,
}
