use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use crate::listing::ListingBuilder;
use crate::{Item, SourceError, path};

/// The maximum depth of nested folders.
const MAX_DEPTH: usize = 100;

/// Lists the files below a folder. `failed` makes the error of the folder itself.
pub fn walk(
    root: &Path,
    listing: &mut ListingBuilder,
    failed: impl Fn(std::io::Error) -> SourceError,
) -> Result<(), SourceError> {
    let entries = WalkDir::new(root).follow_links(false).max_depth(MAX_DEPTH).max_open(10).into_iter();
    for entry in entries.filter_entry(|entry| entry.depth() == 0 || !is_left_out(entry)) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if error.depth() == 0 => return Err(failed(error.into())),
            Err(error) => {
                add_unreadable(root, &error, listing)?;
                continue;
            }
        };
        listing.count_entry()?;
        if entry.file_type().is_file() {
            add_file(root, &entry, listing)?;
        }
    }
    Ok(())
}

/// Whether an entry is skipped: its name begins with a dot, or it is the `lost+found` of a file system, which only root
/// can read.
fn is_left_out(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".") || (entry.depth() == 1 && entry.file_name() == "lost+found")
}

fn add_file(root: &Path, entry: &DirEntry, listing: &mut ListingBuilder) -> Result<(), SourceError> {
    match relative(root, entry.path()) {
        Ok(path) => {
            let size_bytes = entry.metadata().ok().map(|facts| facts.len());
            listing.add(Item { path, revision: None, size_bytes })
        }
        Err(shown) => listing.add_error(shown, "its name is not UTF-8: rename it"),
    }
}

/// Adds the error of a folder that cannot be read. A folder that was just deleted is not an error.
fn add_unreadable(root: &Path, error: &walkdir::Error, listing: &mut ListingBuilder) -> Result<(), SourceError> {
    let cause = error.io_error();
    if cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::NotFound) {
        return Ok(());
    }
    let folder = match error.path().map(|path| relative(root, path)) {
        Some(Ok(path) | Err(path)) => path,
        None => String::new(),
    };
    let reason = cause.map_or_else(|| error.to_string(), ToString::to_string);
    listing.add_unreadable(&folder, format!("the folder cannot be read: {reason}"))
}

/// The path below the root. `Err` with a path for display if it is not UTF-8.
fn relative(root: &Path, path: &Path) -> Result<String, String> {
    let below = path.strip_prefix(root).unwrap_or(path);
    match below.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(path::shown(&below.to_string_lossy())),
    }
}
