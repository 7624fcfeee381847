//! What the next generation lacks: pure but for reading the two stores.

use std::sync::Arc;

use crate::IndexError;
use crate::record::DocumentRecord;
use crate::store::{Changes, Reader};
use crate::writer::Incoming;

/// What has to be done to the next generation.
#[derive(Debug, Default, PartialEq)]
pub struct Difference {
    /// Documents that are gone, or that are put at the end again: their ids.
    pub to_remove: Vec<String>,
    /// Documents that are missing or differ, in their order.
    pub to_write: Vec<Incoming>,
    /// What else their sources call them: the next generation's numbers.
    pub revisions: Vec<(u64, Option<String>)>,
}

/// The two stores as they are now.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// What serves.
    pub serving: &'a Reader,
    /// What is being built.
    pub next: &'a Reader,
}

/// Where a document of the next generation has to stand: documents are listed in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind the one of this number. None: anywhere.
    Behind(Option<u64>),
    /// Anywhere, when the serving generation's number is at most this; at the end otherwise, because it was added since.
    AddedAfter(u64),
}

impl Pair<'_> {
    /// Compares one document of the serving generation and adds what has to be done to `difference`. Returns the number that the next
    /// generation has it under, when it stays there.
    ///
    /// # Errors
    ///
    /// When a store cannot be read.
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

    /// Everything that has to be done for these changes of the serving generation.
    ///
    /// # Errors
    ///
    /// When a store cannot be read.
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

    /// The ids of the next generation's documents that the serving one has no more.
    ///
    /// # Errors
    ///
    /// When a store cannot be read.
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
            // It was taken once: it must not keep the generation from being built.
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
