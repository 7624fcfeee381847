//! Compares the two generations of an index. Reads the stores and writes nothing.

use std::sync::Arc;

use crate::IndexError;
use crate::record::DocumentRecord;
use crate::store::{Changes, Reader};
use crate::writer::Incoming;

/// The changes that the next generation needs.
#[derive(Debug, Default, PartialEq)]
pub struct Difference {
    /// The ids of documents to delete: deleted documents, and documents that move to the end.
    pub to_remove: Vec<String>,
    /// Missing or different documents, in order.
    pub to_write: Vec<Incoming>,
    /// Changed revisions, by the next generation's document numbers.
    pub revisions: Vec<(u64, Option<String>)>,
}

/// Readers of the two stores.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The generation that serves.
    pub serving: &'a Reader,
    /// The generation that is being built.
    pub next: &'a Reader,
}

/// The required position of a document in the next generation. Documents are listed in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After the document of this number. None: anywhere.
    Behind(Option<u64>),
    /// Anywhere if the serving generation's number is at most this one. Later documents were added since and belong at
    /// the end.
    AddedAfter(u64),
}

impl Pair<'_> {
    /// Compares one document of the serving generation and adds the needed changes to `difference`. Returns the
    /// document's number in the next generation if it stays there.
    ///
    /// # Errors
    ///
    /// If a store cannot be read.
    pub fn compare(&self, number: u64, place: Place, difference: &mut Difference) -> Result<Option<u64>, IndexError> {
        let Some(document) = self.serving.document(number)? else { return Ok(None) };
        let Some(known_as) = self.next.number(&document.doc_id)? else {
            difference.to_write.push(self.incoming(number, document)?);
            return Ok(None);
        };
        let is_in_place = match place {
            Place::Behind(last) => last.is_none_or(|last| known_as > last),
            Place::AddedAfter(reached) => number <= reached,
        };
        if !is_in_place {
            difference.to_remove.push(document.doc_id.clone());
            difference.to_write.push(self.incoming(number, document)?);
            return Ok(None);
        }
        let known = self.next.document(known_as)?;
        if !known.is_some_and(|known| is_same(&known, &document)) {
            difference.to_write.push(self.incoming(number, document)?);
        } else {
            let wanted = revision(self.serving, number)?;
            if wanted != revision(self.next, known_as)? {
                difference.revisions.push((known_as, wanted));
            }
        }
        Ok(Some(known_as))
    }

    /// Returns the changes that the next generation needs after these changes of the serving one.
    ///
    /// # Errors
    ///
    /// If a store cannot be read.
    pub fn changed(&self, changes: &Changes, reached: u64) -> Result<Difference, IndexError> {
        let mut difference = Difference::default();
        let mut numbers = changes.numbers.clone();
        for doc_id in &changes.doc_ids {
            match self.serving.number(doc_id)? {
                Some(number) => drop(numbers.insert(number)),
                None if self.next.number(doc_id)?.is_some() => difference.to_remove.push(doc_id.clone()),
                None => {}
            }
        }
        for number in numbers {
            self.compare(number, Place::AddedAfter(reached), &mut difference)?;
        }
        Ok(difference)
    }

    /// The ids of documents that only the next generation has.
    ///
    /// # Errors
    ///
    /// If a store cannot be read.
    pub fn gone(&self) -> Result<Vec<String>, IndexError> {
        let mut doc_ids = Vec::new();
        self.next.each_document(|_, document| doc_ids.push(document.doc_id))?;
        let mut gone = Vec::new();
        for doc_id in doc_ids {
            if self.serving.number(&doc_id)?.is_none() {
                gone.push(doc_id);
            }
        }
        Ok(gone)
    }

    fn incoming(&self, number: u64, document: DocumentRecord) -> Result<Incoming, IndexError> {
        let (text, _) = self.serving.text(number, usize::MAX)?;
        Ok(Incoming {
            metadata: Arc::new(document.metadata()),
            doc_id: document.doc_id,
            text: text.into(),
            source: document.source,
            content_hash: document.content_hash,
            revision: revision(self.serving, number)?,
            // The document was accepted once, so a time limit must not block the build.
            cut_within: None,
        })
    }
}

fn is_same(left: &DocumentRecord, right: &DocumentRecord) -> bool {
    left.content_hash == right.content_hash && left.source == right.source
}

fn revision(reader: &Reader, number: u64) -> Result<Option<String>, IndexError> {
    Ok(reader.revisions([number])?.pop().flatten())
}
