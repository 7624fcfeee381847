//! The documents that the server has of a source, by file.

use std::collections::{BTreeMap, HashMap};

use ragengine_client::wire::SourceDocument;

use crate::identity::SourceName;
use crate::revision::ReaderFingerprint;

/// The documents that the server has of a source, by file.
#[derive(Debug, Default)]
pub struct IndexedFiles {
    documents: HashMap<String, SourceDocument>,
    /// The ids of the documents of each file, by its escaped path.
    files: BTreeMap<String, Vec<String>>,
    /// Ids that no file of this source can have. These documents are deleted.
    unrelated: Vec<String>,
}

impl IndexedFiles {
    /// Groups the documents that the server lists.
    pub fn of(source: &SourceName, documents: Vec<SourceDocument>) -> Self {
        let mut indexed = Self::default();
        for document in documents {
            match source.file_of(&document.doc_id) {
                Some(file) => indexed.files.entry(file).or_default().push(document.doc_id.clone()),
                None => indexed.unrelated.push(document.doc_id.clone()),
            }
            indexed.documents.insert(document.doc_id.clone(), document);
        }
        indexed
    }

    /// The revision of the file with this escaped path, if the server has all of its documents in that revision.
    pub fn revision(&self, fingerprint: &ReaderFingerprint, escaped: &str) -> Option<&str> {
        let marks: Vec<Option<&str>> =
            self.files.get(escaped)?.iter().map(|doc_id| self.stored_revision(doc_id)).collect();
        fingerprint.complete_file(&marks)
    }

    fn stored_revision(&self, doc_id: &str) -> Option<&str> {
        self.documents.get(doc_id)?.revision.as_deref()
    }

    /// Whether the server has documents of the file with this escaped path.
    pub fn has_file(&self, escaped: &str) -> bool {
        self.files.contains_key(escaped)
    }

    /// Whether the server has a document with this content and this stored revision.
    pub fn has(&self, doc_id: &str, content_hash: &str, mark: Option<&str>) -> bool {
        self.documents
            .get(doc_id)
            .is_some_and(|document| document.content_hash == content_hash && document.revision.as_deref() == mark)
    }

    /// The escaped path of each file, with the ids of its documents.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.files.iter().map(|(path, doc_ids)| (path.as_str(), doc_ids.as_slice()))
    }

    /// The revisions of complete files, by their escaped paths.
    pub fn revisions<'a>(&'a self, fingerprint: &ReaderFingerprint) -> HashMap<&'a str, &'a str> {
        self.files.keys().filter_map(|path| Some((path.as_str(), self.revision(fingerprint, path)?))).collect()
    }

    /// Ids that no file of this source can have.
    pub fn unrelated(&self) -> &[String] {
        &self.unrelated
    }
}
