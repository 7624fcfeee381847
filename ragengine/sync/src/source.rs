//! One source: its files, what is sent of them, what leaves.

mod file;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use ragengine_client::ClientError;
use ragengine_parsers::{Format, Parser};
use ragengine_settings::sync::{Origin, Source};
use ragengine_sources::{Access, Extent, Item, Opened};
use sha2::{Digest, Sha256};

use crate::account::Account;
use crate::confirmation::confirmation;
use crate::error::SyncError;
use crate::identity::{SourceName, unescaped};
use crate::known::Known;
use crate::leaving::{CutOff, Deletions, Staying, leaving};
use crate::outbox::{Outbox, Refused};
use crate::revision::Reading;
use crate::server::Server;

/// Ids in one request to delete.
const DELETE_BATCH: usize = 1000;

/// What became of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrored {
    /// How many documents were sent.
    pub sent: usize,
    /// How many were deleted.
    pub deleted: usize,
    /// How many would be deleted if it were confirmed.
    pub held_back: u64,
    /// What confirms the deletion of these, in this revision of the source.
    pub confirmation: Option<String>,
    /// The revision that the index holds now. None when not all of it arrived.
    pub revision: Option<String>,
}

/// Makes the server's copy of one source exact.
pub struct Mirror<'a> {
    server: &'a Server,
    source: &'a Source,
    name: &'a SourceName,
    account: &'a Mutex<Account>,
    reading: Reading,
    known: Known,
    staying: Staying,
    outbox: Outbox,
    /// The revision of each file, and the error of each entry that can never be read. They make the revision of the source.
    revisions: BTreeMap<String, String>,
    sent: usize,
}

impl<'a> Mirror<'a> {
    /// A copy that has not been looked at yet.
    pub fn new(server: &'a Server, source: &'a Source, name: &'a SourceName, account: &'a Mutex<Account>) -> Self {
        Self {
            server,
            source,
            name,
            account,
            reading: Reading::of(&source.metadata),
            known: Known::default(),
            staying: Staying::default(),
            outbox: Outbox::default(),
            revisions: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Sends what is new or has changed; when all of that is there, deletes what left.
    ///
    /// # Errors
    ///
    /// When the source cannot be listed, or the server does not answer or refuses everything.
    pub async fn run(
        mut self,
        access: &Access,
        parser: &mut Parser,
        confirmations: &[String],
    ) -> Result<Mirrored, SyncError> {
        let on_server = self.server.documents(&self.name.on_server()).await?;
        self.known = Known::of(self.name, on_server);
        let opened = ragengine_sources::open(self.source, access).await?;
        let files = taken(self.source, opened.items());
        self.begin(&files, &opened);
        for item in files {
            self.file(&opened, item, parser).await?;
            self.account.lock().file_done();
        }
        let refused = self.outbox.flush(self.server).await?;
        self.note(&refused);
        let revision = opened.revision().map_or_else(|| revision_of(&self.revisions), str::to_owned);
        let confirmation = confirmation(&self.source.name, &revision);
        let deletions = Deletions::guarded_unless(confirmations.contains(&confirmation));
        let (deleted, held_back) = self.delete(deletions).await?;
        let is_whole = self.account.lock().is_complete() && held_back == 0;
        Ok(Mirrored {
            sent: self.sent,
            deleted,
            held_back,
            confirmation: (held_back > 0).then_some(confirmation),
            revision: is_whole.then_some(revision),
        })
    }

    fn begin(&mut self, files: &[&Item], opened: &Opened) {
        let mut account = Account::of(files.len());
        for error in opened.errors() {
            account.not_listed(error);
            self.staying.not_listed(error);
            if error.extent == Extent::Itself {
                self.revisions.insert(error.path.clone(), error.message.clone());
            }
        }
        *self.account.lock() = account;
    }

    /// What the server did not take is missing; the next synchronisation sends it again.
    fn note(&mut self, refused: &[Refused]) {
        for Refused { path, reason } in refused {
            self.account.lock().missed(path, &reason.to_string());
        }
        self.sent -= refused.len();
    }

    /// How many documents were deleted, and how many are held back.
    async fn delete(&self, deletions: Deletions) -> Result<(usize, u64), ClientError> {
        let leaving = leaving(&self.known, &self.staying, &self.reading, deletions);
        for CutOff { escaped_path, before, held_back } in &leaving.cut_off {
            let reason = format!("it may be cut off: {held_back} of its {before} documents are missing and held back");
            self.account.lock().unreadable(&unescaped(escaped_path), &reason);
        }
        let mut deleted = 0;
        for batch in leaving.deleted.chunks(DELETE_BATCH) {
            deleted += self.server.delete(batch).await?;
        }
        Ok((deleted, leaving.held_back))
    }
}

/// Which of the files are read: those that `include` names, else those whose format is known. Web pages say what they are when they arrive, and
/// what was named one by one was meant.
fn taken<'a>(source: &Source, items: &'a [Item]) -> Vec<&'a Item> {
    let are_meant = !source.include.is_empty() || matches!(source.origin, Origin::Http(_) | Origin::Inline(_));
    items.iter().filter(|item| are_meant || Format::of(&item.path, None).is_ok()).collect()
}

/// The revision of a source that has none of its own: a hash over its paths and their revisions.
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
    fn without_include_only_known_formats_are_taken() {
        let items = ["a.md", "b.exe", "c"].map(item);
        let task = |origin: &str, include: &str| -> Source {
            let text = format!(r#"{{"name": "s", "include": [{include}], "origin": {origin}}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let folder = r#"{"folder": {"path": "/x"}}"#;
        let paths = |source: &Source| taken(source, &items).iter().map(|item| item.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&task(folder, "")), ["a.md"]);
        assert_eq!(paths(&task(folder, r#""**""#)), ["a.md", "b.exe", "c"]);
        assert_eq!(paths(&task(r#"{"http": {"urls": []}}"#, "")), ["a.md", "b.exe", "c"]);
    }

    #[test]
    fn the_revision_of_the_whole_is_that_of_its_parts() {
        let of = |files: &[(&str, &str)]| {
            revision_of(&files.iter().map(|(path, revision)| ((*path).to_owned(), (*revision).to_owned())).collect())
        };
        assert_eq!(of(&[("a", "1"), ("b", "2")]), of(&[("b", "2"), ("a", "1")]));
        assert_ne!(of(&[("a", "1")]), of(&[("a", "2")]));
        assert_ne!(of(&[("a", "1")]), of(&[("b", "1")]));
    }
}
