//! Synchronises one source: fetches its files, sends changed documents, and deletes removed ones.

mod file;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use ragengine_client::ClientError;
use ragengine_parsers::{Format, Parser};
use ragengine_settings::sync::{Origin, Source};
use ragengine_sources::{Access, Extent, Item, Opened};
use sha2::{Digest, Sha256};

use crate::confirmation::confirmation_of_documents;
use crate::deletion::{CurrentFiles, DeletionMode, DeletionPlan, TruncatedFile, plan_deletions};
use crate::error::SyncError;
use crate::identity::{SourceName, unescaped};
use crate::indexed_files::IndexedFiles;
use crate::outbox::{Outbox, Refused};
use crate::progress::SyncProgress;
use crate::record::Before;
use crate::revision::ReaderFingerprint;
use crate::server::Server;

/// The maximum number of ids in one delete request.
const DELETE_BATCH: usize = 1000;

/// The result of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrored {
    /// The number of documents that were sent.
    pub sent: usize,
    /// The number of documents that were deleted.
    pub deleted: usize,
    /// The number of documents whose deletion needs a confirmation.
    pub held_back: u64,
    /// The value that confirms the deletion of exactly these documents.
    pub confirmation: Option<String>,
    /// The revision that the index now holds. `None` if it is incomplete.
    pub revision: Option<String>,
}

/// Synchronises one source with the server.
pub struct Mirror<'a> {
    server: &'a Server,
    source: &'a Source,
    name: &'a SourceName,
    progress: &'a Mutex<SyncProgress>,
    fingerprint: ReaderFingerprint,
    indexed: IndexedFiles,
    current: CurrentFiles,
    outbox: Outbox,
    /// The revision of each file, and the message of each entry that can never be read, by path. The revision of the
    /// source is a hash of them.
    revisions: BTreeMap<String, String>,
    sent: usize,
}

impl<'a> Mirror<'a> {
    /// Prepares the synchronisation; sends no request.
    pub fn new(
        server: &'a Server,
        source: &'a Source,
        name: &'a SourceName,
        progress: &'a Mutex<SyncProgress>,
    ) -> Self {
        Self {
            server,
            source,
            name,
            progress,
            fingerprint: ReaderFingerprint::of(&source.metadata),
            indexed: IndexedFiles::default(),
            current: CurrentFiles::default(),
            outbox: Outbox::default(),
            revisions: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Sends new and changed documents, and then deletes removed ones, unless that looks like an accident. `before` is what the previous
    /// synchronisation left.
    ///
    /// # Errors
    ///
    /// When the source cannot be listed, the server does not answer, or it refuses a request for a reason other than a
    /// document.
    pub async fn run(
        mut self,
        access: &Access,
        parser: &mut Parser,
        confirmations: &[String],
        before: &Before,
    ) -> Result<Mirrored, SyncError> {
        let on_server = self.server.documents(&self.name.on_server()).await?;
        self.indexed = IndexedFiles::of(self.name, on_server);
        let opened = ragengine_sources::open(self.source, access).await?;
        let files = files_to_read(self.source, opened.items());
        self.begin(&files, &opened);
        for item in files {
            self.file(&opened, item, parser).await?;
            self.progress.lock().file_done();
        }
        let refused = self.outbox.flush(self.server).await?;
        self.note(&refused);
        let revision = opened.revision().map_or_else(|| revision_of(&self.revisions), str::to_owned);
        let (plan, confirmation) = self.plan(confirmations, before);
        let deleted = self.delete(&plan).await?;
        let is_whole = self.progress.lock().is_complete() && plan.held_back == 0;
        Ok(Mirrored {
            sent: self.sent,
            deleted,
            held_back: plan.held_back,
            confirmation,
            revision: is_whole.then_some(revision),
        })
    }

    /// The deletions, and the value that confirms those that are held back.
    fn plan(&self, confirmations: &[String], before: &Before) -> (DeletionPlan, Option<String>) {
        let plan = |mode| plan_deletions(&self.indexed, &self.current, &self.fingerprint, mode);
        let was_held_back = before.held_back > 0;
        let guarded = plan(if was_held_back { DeletionMode::HeldBackBefore } else { DeletionMode::Guarded });
        if guarded.held_back == 0 {
            return (guarded, None);
        }
        let confirmed = plan(DeletionMode::Confirmed);
        let held_back = guarded.held_back_ids(&confirmed);
        let value = confirmation_of_documents(&self.source.name, before.revision.as_deref(), held_back);
        if confirmations.contains(&value) { (confirmed, None) } else { (guarded, Some(value)) }
    }

    fn begin(&mut self, files: &[&Item], opened: &Opened) {
        let mut progress = SyncProgress::of(files.len());
        for error in opened.errors() {
            progress.not_listed(error);
            self.current.not_listed(self.name, error);
            if error.extent == Extent::Itself {
                self.revisions.insert(error.path.clone(), error.message.clone());
            }
        }
        *self.progress.lock() = progress;
    }

    /// Records the documents that the server refused. The next synchronisation sends them again.
    fn note(&mut self, refused: &[Refused]) {
        for Refused { path, reason } in refused {
            self.progress.lock().missed(path, &reason.to_string());
        }
        self.sent -= refused.len();
    }

    /// Returns the number of deleted documents.
    async fn delete(&self, plan: &DeletionPlan) -> Result<usize, ClientError> {
        for TruncatedFile { escaped_path, before, held_back } in &plan.truncated {
            let reason = format!(
                "it may be truncated: {held_back} of its {before} documents are missing, and they were not deleted"
            );
            self.progress.lock().unreadable(&unescaped(escaped_path), &reason);
        }
        let mut deleted = 0;
        for batch in plan.deleted.chunks(DELETE_BATCH) {
            deleted += self.server.delete(batch).await?;
        }
        Ok(deleted)
    }
}

/// The files to read. If there is no `include`, only files with a known extension, because a folder may contain
/// anything. Web pages are exempt because their format is known only from the response, and inline documents because
/// they were listed one by one.
fn files_to_read<'a>(source: &Source, items: &'a [Item]) -> Vec<&'a Item> {
    let reads_all = !source.include.is_empty() || matches!(source.origin, Origin::Http(_) | Origin::Inline(_));
    items.iter().filter(|item| reads_all || Format::of(&item.path, None).is_ok()).collect()
}

/// The revision of a source without a native revision: a hash of the paths and revisions of its files.
fn revision_of(files: &BTreeMap<String, String>) -> String {
    let mut hash = Sha256::new();
    for (path, revision) in files {
        hash.update(format!("{path}\n{revision}\n"));
    }
    hex::encode(&hash.finalize()[..20])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(path: &str) -> Item {
        Item { path: path.to_owned(), revision: None, size_bytes: None }
    }

    #[test]
    fn without_include_only_known_formats_are_read() {
        let items = ["a.md", "b.exe", "c"].map(item);
        let task = |origin: &str, include: &str| -> Source {
            let text = format!(r#"{{"name": "s", "include": [{include}], "origin": {origin}}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let folder = r#"{"folder": {"path": "/x"}}"#;
        let paths =
            |source: &Source| files_to_read(source, &items).iter().map(|item| item.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&task(folder, "")), ["a.md"]);
        assert_eq!(paths(&task(folder, r#""**""#)), ["a.md", "b.exe", "c"]);
        assert_eq!(paths(&task(r#"{"http": {"urls": []}}"#, "")), ["a.md", "b.exe", "c"]);
    }

    #[test]
    fn the_revision_of_a_source_depends_on_its_files() {
        let of = |files: &[(&str, &str)]| {
            revision_of(&files.iter().map(|(path, revision)| ((*path).to_owned(), (*revision).to_owned())).collect())
        };
        assert_eq!(of(&[("a", "1"), ("b", "2")]), of(&[("b", "2"), ("a", "1")]));
        assert_ne!(of(&[("a", "1")]), of(&[("a", "2")]));
        assert_ne!(of(&[("a", "1")]), of(&[("b", "1")]));
    }
}
