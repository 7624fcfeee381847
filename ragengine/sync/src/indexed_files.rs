//! The documents that the server has of a source, by file.

use std::collections::{BTreeMap, HashMap};

use hex::FromHex as _;
use ragengine_client::wire::SourceDocument;

use crate::identity::SourceName;
use crate::revision::ReaderFingerprint;

/// The documents that the server has of a source, by file.
#[derive(Debug, Default)]
pub struct IndexedFiles {
    /// The documents of each file, ordered by id, by its escaped path.
    files: BTreeMap<String, Vec<IndexedDocument>>,
    /// Ids that no file of this source can have. These documents are deleted.
    unrelated: Vec<String>,
}

/// A document that the server has. It is small, because all documents of a source are in memory.
#[derive(Debug)]
pub struct IndexedDocument {
    doc_id: Box<str>,
    /// `None` if the server's hash cannot be read: then the document counts as changed.
    content_hash: Option<[u8; 32]>,
    revision: Option<Box<str>>,
}

impl IndexedDocument {
    fn of(document: SourceDocument) -> Self {
        Self {
            doc_id: document.doc_id.into_boxed_str(),
            content_hash: in_bytes(&document.content_hash),
            revision: document.revision.map(String::into_boxed_str),
        }
    }

    /// Its id.
    pub fn doc_id(&self) -> &str {
        &self.doc_id
    }
}

/// The bytes of a hash that is written in hexadecimal digits.
fn in_bytes(hash: &str) -> Option<[u8; 32]> {
    <[u8; 32]>::from_hex(hash).ok()
}

impl IndexedFiles {
    /// Groups the documents that the server lists.
    pub fn of(source: &SourceName, documents: Vec<SourceDocument>) -> Self {
        let mut indexed = Self::default();
        for document in documents {
            match source.file_of(&document.doc_id) {
                Some(file) => indexed.files.entry(file).or_default().push(IndexedDocument::of(document)),
                None => indexed.unrelated.push(document.doc_id),
            }
        }
        for documents in indexed.files.values_mut() {
            documents.sort_unstable_by(|one, other| one.doc_id.cmp(&other.doc_id));
        }
        indexed
    }

    /// The revision of the file with this escaped path, if the server has all of its documents in that revision.
    pub fn revision(&self, fingerprint: &ReaderFingerprint, escaped: &str) -> Option<&str> {
        let marks: Vec<Option<&str>> =
            self.files.get(escaped)?.iter().map(|document| document.revision.as_deref()).collect();
        fingerprint.complete_file(&marks)
    }

    /// Whether the server has documents of the file with this escaped path.
    pub fn has_file(&self, escaped: &str) -> bool {
        self.files.contains_key(escaped)
    }

    /// Whether the server has a document of the file with this escaped path, with this content and stored revision.
    pub fn has(&self, escaped: &str, doc_id: &str, content_hash: &str, mark: Option<&str>) -> bool {
        let content_hash = in_bytes(content_hash);
        self.document(escaped, doc_id).is_some_and(|document| {
            content_hash.is_some() && document.content_hash == content_hash && document.revision.as_deref() == mark
        })
    }

    fn document(&self, escaped: &str, doc_id: &str) -> Option<&IndexedDocument> {
        let documents = self.files.get(escaped)?;
        let position = documents.binary_search_by(|document| document.doc_id().cmp(doc_id)).ok()?;
        documents.get(position)
    }

    /// The escaped path of each file, with its documents.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[IndexedDocument])> {
        self.files.iter().map(|(path, documents)| (path.as_str(), documents.as_slice()))
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

#[cfg(test)]
mod tests {
    use ragengine_client::content_hash;
    use ragengine_client::wire::Metadata;

    use super::*;

    #[test]
    fn a_document_is_there_with_its_content_and_revision() {
        let source = SourceName::new("o", "s");
        let hash = |text: &str| content_hash(text, &Metadata::new());
        let document = |key: &str, content_hash: String| SourceDocument {
            doc_id: source.doc_id("faq.csv", Some(key)),
            content_hash,
            revision: Some("r1".to_owned()),
        };
        let on_server = vec![document("9", hash("b")), document("10", hash("a")), document("2", "odd".to_owned())];
        let indexed = IndexedFiles::of(&source, on_server);
        let cases = [
            ("faq.csv", "10", hash("a"), Some("r1"), true),
            ("faq.csv", "9", hash("b"), Some("r1"), true),
            ("faq.csv", "9", hash("a"), Some("r1"), false),
            ("faq.csv", "9", hash("b"), Some("r2"), false),
            ("faq.csv", "9", hash("b"), None, false),
            ("faq.csv", "1", hash("a"), Some("r1"), false),
            ("other.csv", "9", hash("b"), Some("r1"), false),
            ("faq.csv", "2", "odd".to_owned(), Some("r1"), false),
        ];
        for (file, key, hash, mark, expected) in cases {
            let doc_id = source.doc_id("faq.csv", Some(key));
            assert_eq!(indexed.has(file, &doc_id, &hash, mark), expected, "{file} {key} {mark:?}");
        }
    }
}
