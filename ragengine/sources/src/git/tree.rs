use gix_hash::ObjectId;
use gix_object::TreeRefIter;
use gix_object::tree::EntryKind;

use super::pack::Pack;
use crate::listing::ListingBuilder;
use crate::{FetchError, Item, SourceError, path};

/// The maximum depth of nested folders.
const MAX_DEPTH: usize = 100;

/// The shortest name of a file below a folder, with its slash, in bytes.
const MIN_NAME_BYTES: usize = 2;

/// A folder that was not read yet.
struct Folder {
    id: ObjectId,
    prefix: String,
    depth: usize,
}

/// Lists the files of a commit. Skips symbolic links, submodules, and names that begin with a dot.
pub fn list(
    pack: &Pack,
    commit: ObjectId,
    listing: &mut ListingBuilder,
    failed: impl Fn(FetchError) -> SourceError,
) -> Result<(), SourceError> {
    let mut waiting = vec![Folder { id: pack.root(commit).map_err(&failed)?, prefix: String::new(), depth: 0 }];
    while let Some(folder) = waiting.pop() {
        let content = pack.tree(folder.id).map_err(&failed)?;
        for entry in TreeRefIter::from_bytes(&content, gix_hash::Kind::Sha1) {
            let entry = entry.map_err(|error| failed(FetchError::Answer(error.to_string())))?;
            listing.count_entry()?;
            let name: &[u8] = entry.filename.as_ref();
            if name.starts_with(b".") {
                continue;
            }
            let Ok(name) = std::str::from_utf8(name) else {
                let shown = path::shown(&format!("{}{}", folder.prefix, String::from_utf8_lossy(name)));
                listing.add_error(shown, "its name is not UTF-8: rename it")?;
                continue;
            };
            let path = format!("{}{name}", folder.prefix);
            match entry.mode.kind() {
                EntryKind::Blob | EntryKind::BlobExecutable => {
                    listing.add(Item { path, revision: Some(entry.oid.to_string()), size_bytes: None })?;
                }
                EntryKind::Tree if name.contains('/') || folder.depth >= MAX_DEPTH => {
                    listing.add_error(
                        format!("{}/", path::shown(&path)),
                        "the folder is nested more than 100 levels deep, or its name contains a slash",
                    )?;
                }
                // A repository can have millions of names, and each may be as long as a file.
                EntryKind::Tree if path.len() + MIN_NAME_BYTES > Item::MAX_PATH_BYTES => {
                    listing.add_too_long(&path)?;
                }
                EntryKind::Tree => {
                    waiting.push(Folder {
                        id: entry.oid.to_owned(),
                        prefix: format!("{path}/"),
                        depth: folder.depth + 1,
                    });
                    listing.check_waiting(waiting.len())?;
                }
                EntryKind::Link | EntryKind::Commit => {}
            }
        }
    }
    Ok(())
}
