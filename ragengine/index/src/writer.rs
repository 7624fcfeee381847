//! Writing documents: what changed is cut, what has no vector is embedded, and all of it becomes one transaction.

mod incoming;
mod prepare;
mod slow;

use std::collections::HashSet;
use std::sync::Arc;

pub use incoming::{Incoming, Limits, check_documents};
pub use prepare::Embedded;
use prepare::{Change, Cutting, Known, Prepared, PreparedChunk, Unembedded};
use ragengine_client::wire::Metadata;

use super::chunking::Sizes;
use super::record::{ChunkRecord, DocumentRecord};
use super::store::{Reader, StoreError, Transaction};
use super::view::Changed;
use super::{Index, IndexError};
use ragengine_compute as compute;
use ragengine_embedding::Embedding;

/// Whether documents that are not there yet are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are.
    Upsert,
    /// They are not.
    UpdateOnly,
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was added or changed.
    Written,
    /// It was the same already.
    Unchanged,
    /// It is not there, and was not to be added.
    NotFound,
}

impl Index {
    /// Writes documents, whose ids must differ. When this returns, they are on disk and every later search finds them.
    ///
    /// No lock is held while texts are cut and embedded; what was prepared is compared with the store once more when it is written. A document
    /// that was found to be the same, or not to be there, is answered as it was then: what changes it meanwhile comes after.
    ///
    /// # Errors
    ///
    /// When the model differs from the index's, a text cannot be cut or embedded, or the disk refuses: nothing is written then.
    /// [`IndexError::NotShown`] when it may be on disk.
    pub async fn write(
        self: &Arc<Self>,
        incoming: Vec<Incoming>,
        mode: Mode,
        embedding: &Embedding,
    ) -> Result<Vec<Fate>, IndexError> {
        self.write_with(incoming, mode, embedding, None).await
    }

    /// The same, with vectors taken over from the store of another generation whose vectors may meet these.
    pub(super) async fn write_with(
        self: &Arc<Self>,
        incoming: Vec<Incoming>,
        mode: Mode,
        embedding: &Embedding,
        donor: Option<Arc<Reader>>,
    ) -> Result<Vec<Fate>, IndexError> {
        self.require_model(embedding)?;
        self.require_present()?;
        let sizes = Sizes {
            max_tokens: self.record.max_tokens as usize,
            overlap_tokens: self.record.overlap_tokens as usize,
            max_passage_tokens: embedding.max_passage_tokens(),
        };
        let index = Arc::clone(self);
        let counter = embedding.clone();
        let mut prepared = compute::for_writes(move |caller| {
            let count_tokens = |text: &str| counter.count_tokens(text);
            index.prepare(incoming, mode, donor.as_deref(), Cutting { sizes, count_tokens: &count_tokens, caller })
        })
        .await?;
        let vectors = embedding.embed_passages(prepared.texts_to_embed()).await?;
        let dimensions = self.record.dimensions;
        let prepared = compute::for_writes(move |_| prepared.with_vectors(vectors, dimensions)).await?;
        self.wait_while_catching_up().await;
        let fates = self.in_turn(move |index| index.put(prepared, mode)).await?;
        self.rebuild_if_due();
        Ok(fates)
    }

    /// Compares documents with all that is on disk, and cuts those that have to be written.
    fn prepare(
        &self,
        incoming: Vec<Incoming>,
        mode: Mode,
        donor: Option<&Reader>,
        cutting: Cutting<'_>,
    ) -> Result<Unembedded, IndexError> {
        let reader = self.latest_reader()?;
        let known = Known { reader: &reader, donor };
        prepare::prepare(known, incoming, mode, cutting)
    }

    /// Writes documents that were cut and embedded elsewhere, whose ids must differ: for loading data that has its vectors already.
    /// They must be of the index's model. It waits for the disk: not to be called where requests are served.
    ///
    /// # Errors
    ///
    /// When a vector is of another width or not finite, or the disk refuses. Nothing is written then.
    pub fn put_vectors(self: &Arc<Self>, documents: Vec<Embedded>) -> Result<(), IndexError> {
        let prepare = |document: Embedded| document.prepare(self.record.dimensions);
        let prepared = documents.into_iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        self.put(prepared, Mode::Upsert)?;
        self.rebuild_if_due();
        Ok(())
    }

    /// Deletes documents. Returns for each id whether it was there.
    ///
    /// # Errors
    ///
    /// When the disk refuses. Nothing is deleted then. [`IndexError::NotShown`] when they may be deleted on disk.
    pub async fn delete(self: &Arc<Self>, doc_ids: impl Into<Arc<[String]>>) -> Result<Vec<bool>, IndexError> {
        let doc_ids = doc_ids.into();
        let were_there = self.in_turn(move |index| index.remove(doc_ids)).await?;
        self.rebuild_if_due();
        Ok(were_there)
    }

    pub(super) fn put(&self, prepared: Vec<Prepared>, mode: Mode) -> Result<Vec<Fate>, IndexError> {
        self.require_present()?;
        // What they were compared with had all that was answered before: nothing that is on disk and not shown can make this untrue.
        if prepared.iter().all(Prepared::is_unchanged) {
            return Ok(prepared.iter().map(|document| document.fate).collect());
        }
        let chunks = prepared.iter().map(Prepared::chunks).sum();
        self.commit(chunks, move |transaction| {
            let mut fates = Vec::with_capacity(prepared.len());
            let mut changed = Vec::new();
            for document in &prepared {
                let (fate, change) = put(transaction, document, mode)?;
                fates.push(fate);
                changed.extend(change);
            }
            Ok((fates, changed))
        })
    }

    pub(super) fn remove(&self, doc_ids: impl Into<Arc<[String]>>) -> Result<Vec<bool>, IndexError> {
        let doc_ids = doc_ids.into();
        self.require_present()?;
        let reader = self.latest_reader()?;
        let mut is_any_there = false;
        for doc_id in &*doc_ids {
            is_any_there = is_any_there || reader.number(doc_id)?.is_some();
        }
        if !is_any_there {
            return Ok(vec![false; doc_ids.len()]);
        }
        self.commit(0, move |transaction| {
            // What the transaction finds is what is answered: others may have written since it was looked.
            let (mut were_there, mut deleted) = (Vec::with_capacity(doc_ids.len()), Vec::new());
            let mut gone = HashSet::new();
            for doc_id in &*doc_ids {
                if let Some((number, document)) = transaction.document_by_id(doc_id)? {
                    transaction.remove_document(number, &document)?;
                    deleted.push(Changed { number, before: Some(document), after: None });
                    gone.insert(doc_id);
                }
                // An id may be there twice: the second time it is gone.
                were_there.push(gone.contains(doc_id));
            }
            Ok((were_there, deleted))
        })
    }
}

/// Puts one prepared document, unless the store has changed since in a way that makes it needless.
fn put(transaction: &Transaction, document: &Prepared, mode: Mode) -> Result<(Fate, Option<Changed>), StoreError> {
    match &document.change {
        Change::Nothing => Ok((document.fate, None)),
        Change::Revision => put_revision(transaction, document).map(|()| (document.fate, None)),
        Change::Everything(chunks) => put_everything(transaction, document, chunks, mode),
    }
}

/// Puts a revision, unless another write has come between: the revision is not of what that one wrote.
fn put_revision(transaction: &Transaction, document: &Prepared) -> Result<(), StoreError> {
    match transaction.document_by_id(&document.incoming.doc_id)? {
        Some((number, known)) if document.incoming.is_what(&known) => {
            transaction.put_revision(number, document.incoming.revision.as_deref())
        }
        _ => Ok(()),
    }
}

fn put_everything(
    transaction: &Transaction,
    document: &Prepared,
    chunks: &[PreparedChunk],
    mode: Mode,
) -> Result<(Fate, Option<Changed>), StoreError> {
    let before = transaction.document_by_id(&document.incoming.doc_id)?;
    if before.is_none() && mode == Mode::UpdateOnly {
        return Ok((Fate::NotFound, None));
    }
    if let Some((_, before)) = &before {
        transaction.remove_chunks(before)?;
    }
    let number = match &before {
        Some((number, _)) => *number,
        None => transaction.next_document()?,
    };
    let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
    let first_row = transaction.next_rows(count)?;
    let records: Vec<ChunkRecord> = (0..).zip(chunks).map(|(ordinal, chunk)| chunk.record(number, ordinal)).collect();
    transaction.put_chunks(first_row, records.iter().zip(chunks.iter().map(|chunk| chunk.vector.as_slice())))?;
    transaction.put_pages((first_row..).zip(chunks).filter_map(|(row, chunk)| Some((row, chunk.page()?))))?;
    let after = document.record(first_row, count);
    transaction.put_document(number, &after, &document.incoming.text)?;
    transaction.put_revision(number, document.incoming.revision.as_deref())?;
    let vectors = chunks.iter().flat_map(|chunk| chunk.vector.iter().copied()).collect();
    let before = before.map(|(_, before)| before);
    Ok((Fate::Written, Some(Changed { number, before, after: Some((after, vectors)) })))
}

impl Prepared {
    fn record(&self, first_row: u64, chunks: u32) -> DocumentRecord {
        DocumentRecord {
            doc_id: self.incoming.doc_id.clone(),
            metadata: json(&self.incoming.metadata),
            source: self.incoming.source.clone(),
            content_hash: self.incoming.content_hash.clone(),
            first_row,
            chunks,
            text_bytes: self.incoming.text.len() as u64,
        }
    }
}

/// Metadata as it is stored.
fn json(metadata: &Metadata) -> String {
    // A map of strings to values cannot fail to be written.
    serde_json::to_string(metadata).unwrap_or_default()
}

#[cfg(test)]
mod tests;
