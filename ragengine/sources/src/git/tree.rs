use gix_hash::ObjectId;
use gix_object::TreeRefIter;
use gix_object::tree::EntryKind;

use super::pack::Pack;
use crate::listing::ListingBuilder;
use crate::{FetchError, Item, SourceError, path};

/// How many folders may be in each other.
const MAX_DEPTH: usize = 100;

/// A folder that is still to be read.
struct Folder {
    id: ObjectId,
    prefix: String,
    depth: usize,
}

/// Lists the files of a commit. Symbolic links, submodules, and whatever has a name that begins with a dot are left out.
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
            listing.see()?;
            let name: &[u8] = entry.filename.as_ref();
            if name.starts_with(b".") {
                continue;
            }
            let Ok(name) = std::str::from_utf8(name) else {
                let shown = path::shown(&format!("{}{}", folder.prefix, String::from_utf8_lossy(name)));
                listing.add_error(shown, "its name is not UTF-8")?;
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
                        "its folders are too deep in each other, or named oddly",
                    )?;
                }
                EntryKind::Tree => {
                    waiting.push(Folder {
                        id: entry.oid.to_owned(),
                        prefix: format!("{path}/"),
                        depth: folder.depth + 1,
                    });
                }
                EntryKind::Link | EntryKind::Commit => {}
            }
        }
    }
    Ok(())
}
