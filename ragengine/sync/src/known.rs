//! What the server has of a source, by file.

use std::collections::{BTreeMap, HashMap};

use ragengine_client::wire::SourceDocument;

use crate::identity::{SourceName, escaped};
use crate::revision::Reading;

/// What the server has of a source.
#[derive(Debug, Default)]
pub struct Known {
    documents: HashMap<String, SourceDocument>,
    /// Files by their escaped paths, with the ids of their documents.
    files: BTreeMap<String, Vec<String>>,
    /// Ids that no file of this source can have made. They leave.
    strangers: Vec<String>,
}

impl Known {
    /// As the server lists it.
    pub fn of(source: &SourceName, documents: Vec<SourceDocument>) -> Self {
        let mut known = Self::default();
        for document in documents {
            match source.file_of(&document.doc_id) {
                Some(file) => known.files.entry(file.to_owned()).or_default().push(document.doc_id.clone()),
                None => known.strangers.push(document.doc_id.clone()),
            }
            known.documents.insert(document.doc_id.clone(), document);
        }
        known
    }

    /// The revision of a file, when all of its documents are there in it.
    pub fn revision(&self, reading: &Reading, path: &str) -> Option<&str> {
        self.revision_of(reading, &escaped(path))
    }

    fn revision_of(&self, reading: &Reading, escaped: &str) -> Option<&str> {
        let marks: Vec<Option<&str>> = self.files.get(escaped)?.iter().map(|doc_id| self.mark(doc_id)).collect();
        reading.whole_file(&marks)
    }

    fn mark(&self, doc_id: &str) -> Option<&str> {
        self.documents.get(doc_id)?.revision.as_deref()
    }

    /// Whether there are documents of a file.
    pub fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(&escaped(path))
    }

    /// Whether a document is there with this content and this mark.
    pub fn has(&self, doc_id: &str, content_hash: &str, mark: Option<&str>) -> bool {
        self.documents
            .get(doc_id)
            .is_some_and(|document| document.content_hash == content_hash && document.revision.as_deref() == mark)
    }

    /// The files, by their escaped paths, with the ids of their documents.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.files.iter().map(|(path, doc_ids)| (path.as_str(), doc_ids.as_slice()))
    }

    /// The revisions of the files that are whole, by their escaped paths.
    pub fn revisions<'a>(&'a self, reading: &Reading) -> HashMap<&'a str, &'a str> {
        self.files.keys().filter_map(|path| Some((path.as_str(), self.revision_of(reading, path)?))).collect()
    }

    /// Ids that no file of this source can have made.
    pub fn strangers(&self) -> &[String] {
        &self.strangers
    }
}
