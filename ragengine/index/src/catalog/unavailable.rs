//! Unavailable indexes: their files cannot be read, or the disk refused an operation. They are set apart so that the
//! other indexes serve. Nothing is deleted, and no empty index takes their place.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::{error, info};

use super::{CATALOG_FILE, Catalog};
use crate::store::StoreError;
use crate::{Index, IndexError, Step};

/// An index that is unavailable.
pub(super) struct Unavailable {
    pub directory: PathBuf,
    /// The problem, and what the user can do.
    reason: String,
    /// Whether reopening may help. A damaged index stays unavailable until a person has acted.
    may_pass: bool,
}

impl Catalog {
    /// Descriptions of all problems with indexes, for the user.
    pub fn problems(&self) -> Vec<String> {
        let unavailable = self.unavailable.read();
        let mut problems: Vec<String> =
            unavailable.iter().map(|(name, index)| format!("index '{name}': {}", index.reason)).collect();
        drop(unavailable);
        let refused = self.all().into_iter().filter(|index| index.has_failed());
        problems.extend(refused.map(|index| format!("index '{}': {}", index.name(), StoreError::Latched)));
        let unshown = self.all().into_iter().filter(|index| index.has_unshown());
        problems.extend(
            unshown.map(|index| {
                format!("index '{}': searches do not find its latest changes yet; retrying", index.name())
            }),
        );
        if self.database.has_failed() {
            problems.push("the disk refused to read or write the list of indexes; retrying".to_owned());
        }
        problems
    }

    /// Whether [`Self::heal`] may fix a problem.
    pub fn may_heal(&self) -> bool {
        self.database.has_failed()
            || self.all().iter().any(|index| index.has_failed() || index.has_unshown())
            || self.unavailable.read().values().any(|index| index.may_pass)
    }

    /// Reopens everything that the disk refused, and shows changes that could not be shown. Requests for an index fail
    /// while it is reopened. Returns the indexes that were opened. Blocks on the disk, so call it outside the async
    /// runtime.
    pub fn heal(&self) -> Vec<Arc<Index>> {
        let _changing = self.changing.lock();
        if self.database.has_failed() {
            let reopened = self.database.reopen(&self.options.directory.join(CATALOG_FILE));
            if let Err(error) = reopened.and_then(|()| self.write_all()) {
                error!(%error, "the list of indexes cannot be reopened");
                return Vec::new();
            }
        }
        for index in self.all().into_iter().filter(|index| index.has_failed()) {
            self.set_apart(index.name(), index.directory.clone(), "it is being reopened".to_owned(), true);
            index.store.close();
        }
        self.all().iter().filter(|index| index.has_unshown()).for_each(Index::show_unshown);
        let waiting: Vec<(String, PathBuf)> = {
            let unavailable = self.unavailable.read();
            let may_pass = unavailable.iter().filter(|(_, index)| index.may_pass);
            may_pass.map(|(name, index)| (name.clone(), index.directory.clone())).collect()
        };
        for (name, directory) in &waiting {
            self.open_or_set_apart(name, directory.clone(), &mut |_| {});
        }
        waiting.iter().filter_map(|(name, _)| self.get(name).ok()).collect()
    }

    /// Opens an index. If that fails, the error is logged and the index becomes unavailable.
    pub(super) fn open_or_set_apart(&self, name: &str, directory: PathBuf, progress: &mut dyn FnMut(Step)) {
        match self.open_index(name, &directory, progress) {
            Ok(index) => {
                let size = index.size();
                info!(index = name, documents = size.documents, chunks = size.chunks, "index loaded");
                self.indexes.write().insert(name.to_owned(), Arc::clone(&index));
                self.unavailable.write().remove(name);
                index.rebuild_if_due();
            }
            Err(reason) => {
                error!(
                    index = name,
                    path = %directory.display(),
                    %reason,
                    "index cannot be opened; the other indexes serve"
                );
                let may_pass = may_pass(&reason);
                let words = format!("it cannot be opened: {reason}{}", remedy(&reason));
                self.set_apart(name, directory, words, may_pass);
            }
        }
    }

    /// redb may panic on damaged files; a panic counts as damage.
    fn open_index(
        &self,
        name: &str,
        directory: &Path,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Arc<Index>, IndexError> {
        let opening = || Index::open(name, directory, self.options.search, &self.options.metrics, progress);
        catch_unwind(AssertUnwindSafe(opening))
            .unwrap_or_else(|_| Err(StoreError::Damaged("reading it failed; see the log".to_owned()).into()))
    }

    /// Makes an index unavailable. It is always in at least one of the two maps, so a concurrent request never gets "no
    /// such index".
    pub(super) fn set_apart(&self, name: &str, directory: PathBuf, reason: String, may_pass: bool) {
        self.unavailable.write().insert(name.to_owned(), Unavailable { directory, reason, may_pass });
        self.indexes.write().remove(name);
    }
}

/// The error for a name that has no available index.
pub(super) fn why_not(unavailable: &BTreeMap<String, Unavailable>, name: &str) -> IndexError {
    match unavailable.get(name) {
        Some(index) => IndexError::Unavailable { index: name.to_owned(), reason: index.reason.clone() },
        None => IndexError::NoSuchIndex(name.to_owned()),
    }
}

/// Whether reopening may help: the disk failed, or something still has the file open.
pub(super) fn may_pass(reason: &IndexError) -> bool {
    matches!(
        reason,
        IndexError::Store(StoreError::Full | StoreError::Latched | StoreError::Disk(_) | StoreError::InUse(_))
    )
}

fn remedy(reason: &IndexError) -> &'static str {
    match reason {
        IndexError::Store(StoreError::Damaged(_)) => {
            ". Its folder is unchanged: delete the index, then restore it from a backup (ragengine restore --index) or \
             add its documents again"
        }
        reason if may_pass(reason) => ". It is retried automatically",
        _ => "",
    }
}
