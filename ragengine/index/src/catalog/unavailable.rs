//! Indexes that are there and cannot be used: those whose files cannot be read, and those of which the disk has refused to read or write something. They
//! are kept apart, so that the others serve; nothing is deleted, and nothing empty takes their place.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::{error, info};

use super::{CATALOG_FILE, Catalog};
use crate::store::StoreError;
use crate::{Index, IndexError, Step};

/// An index that cannot be used.
pub(super) struct Unavailable {
    pub directory: PathBuf,
    /// What is wrong, and what can be done.
    reason: String,
    /// Whether opening it again may help. What is damaged stays as it is until a person has looked at it.
    may_pass: bool,
}

impl Catalog {
    /// What is wrong with indexes, in words.
    pub fn problems(&self) -> Vec<String> {
        let unavailable = self.unavailable.read();
        let mut problems: Vec<String> =
            unavailable.iter().map(|(name, index)| format!("index '{name}': {}", index.reason)).collect();
        drop(unavailable);
        let refused = self.all().into_iter().filter(|index| index.has_failed());
        problems.extend(refused.map(|index| format!("index '{}': {}", index.name(), StoreError::Latched)));
        let unshown = self.all().into_iter().filter(|index| index.has_unshown());
        problems.extend(unshown.map(|index| {
            format!("index '{}': something is on its disk that is not found yet: it is tried again", index.name())
        }));
        if self.database.has_failed() {
            problems.push("the disk refused to read or write the list of indexes: it is tried again".to_owned());
        }
        problems
    }

    /// Whether opening something again may help.
    pub fn may_heal(&self) -> bool {
        self.database.has_failed()
            || self.all().iter().any(|index| index.has_failed() || index.has_unshown())
            || self.unavailable.read().values().any(|index| index.may_pass)
    }

    /// Opens again what the disk has refused, and shows what could not be shown. Indexes that are opened are away for that time: whoever asks is told so. Returns
    /// those that were opened. It waits for the disk: run it apart.
    pub fn heal(&self) -> Vec<Arc<Index>> {
        let _changing = self.changing.lock();
        if self.database.has_failed() {
            let reopened = self.database.reopen(&self.options.directory.join(CATALOG_FILE));
            if let Err(error) = reopened.and_then(|()| self.write_all()) {
                error!(%error, "the list of indexes cannot be opened again");
                return Vec::new();
            }
        }
        for index in self.all().into_iter().filter(|index| index.has_failed()) {
            self.set_apart(index.name(), index.directory.clone(), "it is being opened again".to_owned(), true);
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

    /// Opens an index. One that cannot be opened is kept apart, and the log says why.
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
                error!(index = name, path = %directory.display(), %reason, "index cannot be opened; the others are served");
                let may_pass = may_pass(&reason);
                let words = format!("it cannot be opened: {reason}{}", remedy(&reason));
                self.set_apart(name, directory, words, may_pass);
            }
        }
    }

    /// Damaged files may be read as anything, which redb does not always take without a panic.
    fn open_index(
        &self,
        name: &str,
        directory: &Path,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Arc<Index>, IndexError> {
        let opening = || Index::open(name, directory, self.options.search, &self.options.metrics, progress);
        catch_unwind(AssertUnwindSafe(opening))
            .unwrap_or_else(|_| Err(StoreError::Damaged("reading them failed; the log has more".to_owned()).into()))
    }

    /// It is never in neither place: whoever asks for it meanwhile is not told that there is none.
    pub(super) fn set_apart(&self, name: &str, directory: PathBuf, reason: String, may_pass: bool) {
        self.unavailable.write().insert(name.to_owned(), Unavailable { directory, reason, may_pass });
        self.indexes.write().remove(name);
    }
}

/// The error of an index that is there and cannot be used; else there is none of this name.
pub(super) fn why_not(unavailable: &BTreeMap<String, Unavailable>, name: &str) -> IndexError {
    match unavailable.get(name) {
        Some(index) => IndexError::Unavailable { index: name.to_owned(), reason: index.reason.clone() },
        None => IndexError::NoSuchIndex(name.to_owned()),
    }
}

/// Whether opening it again may help: the disk is at fault, or somebody who has it still.
pub(super) fn may_pass(reason: &IndexError) -> bool {
    matches!(
        reason,
        IndexError::Store(StoreError::Full | StoreError::Latched | StoreError::Disk(_) | StoreError::InUse(_))
    )
}

fn remedy(reason: &IndexError) -> &'static str {
    match reason {
        IndexError::Store(StoreError::Damaged(_)) => {
            ". Nothing was changed in its folder: delete the index, then restore it from a backup (ragengine restore --index) or add its \
             documents again"
        }
        reason if may_pass(reason) => ". It is tried again",
        _ => "",
    }
}
