/// An error about one part of the listing of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The path of the entry. A path that no item can have may be shortened. The path of a folder ends with a slash.
    pub path: String,
    /// The message for the user.
    pub message: String,
    /// The part of the source whose files are not known because of the error.
    pub extent: Extent,
}

/// The part of a source whose files are not known because of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Only the entry with exactly this path. It can never be read with this name, so the error is part of the revision
    /// of the source.
    Itself,
    /// Everything below this folder. The next synchronisation may be able to list it.
    Below,
    /// The whole source. The listing may be incomplete, and the missing files are not known.
    Everything,
}
