//! Writing documents: splits changed documents, embeds chunks without a vector, and writes everything in one
//! transaction.

mod incoming;
mod prepare;
mod slow;

use std::collections::HashSet;
use std::sync::Arc;

pub use incoming::{Incoming, Limits, check_documents};
use prepare::KnownVectors;
pub use prepare::{
    Cutting, DocumentChange, Embedded, Known, KnownDocument, Prepared, PreparedChunk, Unembedded, prepare,
};
use ragengine_client::wire::Metadata;

use super::chunking::Sizes;
use super::record::{ChunkRecord, DocumentRecord};
use super::store::{Reader, StoreError, Transaction};
use super::view::Changed;
use super::{Index, IndexError};
use ragengine_compute as compute;
use ragengine_embedding::Embedding;

/// Whether new documents are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Add new documents and update existing ones.
    Upsert,
    /// Only update existing documents.
    UpdateOnly,
}

/// The outcome of writing one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It was added or changed.
    Written,
    /// It was already the same.
    Unchanged,
    /// It does not exist and was not to be added.
    NotFound,
}

impl Index {
    /// Writes documents, whose ids must differ. When this returns, they are durable and every later search finds them.
    ///
    /// No lock is held while texts are split and embedded, so prepared documents are compared with the store again when
    /// they are written. The outcome of an unchanged or missing document reflects the first comparison; a concurrent
    /// change counts as later.
    ///
    /// # Errors
    ///
    /// If the model is not the index's, a text cannot be split or embedded, or the disk fails: nothing is written then.
    /// [`IndexError::NotShown`] if the change may be durable.
    pub async fn write(
        self: &Arc<Self>,
        incoming: Vec<Incoming>,
        mode: Mode,
        embedding: &Embedding,
    ) -> Result<Vec<WriteOutcome>, IndexError> {
        self.write_with(incoming, mode, embedding, None).await
    }

    /// The same, but reuses vectors from `donor`: the store of another generation that was made with the same model.
    pub(super) async fn write_with(
        self: &Arc<Self>,
        incoming: Vec<Incoming>,
        mode: Mode,
        embedding: &Embedding,
        donor: Option<Arc<Reader>>,
    ) -> Result<Vec<WriteOutcome>, IndexError> {
        self.record.require_model(&self.name, embedding)?;
        self.require_present()?;
        let sizes = Sizes {
            max_tokens: self.record.max_tokens as usize,
            overlap_tokens: self.record.overlap_tokens as usize,
            max_passage_tokens: embedding.max_passage_tokens(),
        };
        let index = Arc::clone(self);
        let counter = embedding.clone();
        let mut prepared = compute::run_write(move |caller| {
            let count_tokens = |text: &str| counter.count_tokens(text);
            let has_document_names = counter.has_document_names();
            let cutting = Cutting { sizes, has_document_names, count_tokens: &count_tokens, caller };
            index.prepare(incoming, mode, donor.as_deref(), cutting)
        })
        .await?;
        let vectors = embedding.embed_passages(prepared.texts_to_embed()).await?;
        let dimensions = self.record.dimensions;
        let prepared = compute::run_write(move |_| prepared.with_vectors(vectors, dimensions)).await?;
        self.wait_while_catching_up().await;
        let outcomes = self.in_turn(move |index| index.put(prepared, mode)).await?;
        self.rebuild_if_due();
        Ok(outcomes)
    }

    /// Compares documents with all durable ones, and splits those that must be written.
    fn prepare(
        &self,
        incoming: Vec<Incoming>,
        mode: Mode,
        donor: Option<&Reader>,
        cutting: Cutting<'_>,
    ) -> Result<Unembedded, IndexError> {
        let reader = self.latest_reader()?;
        let known = KnownVectors { reader: &reader, donor };
        prepare(&known, incoming, mode, cutting)
    }

    /// Writes documents that were split and embedded elsewhere, whose ids must differ: for loading data that has
    /// vectors already. The vectors must be of the index's model. Blocks on the disk, so call it outside the async
    /// runtime.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong width or is not finite, or the disk fails. Nothing is written then.
    pub fn put_vectors(self: &Arc<Self>, documents: Vec<Embedded>) -> Result<(), IndexError> {
        let prepare = |document: Embedded| document.prepare(self.record.dimensions);
        let prepared = documents.into_iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        self.put(prepared, Mode::Upsert)?;
        self.rebuild_if_due();
        Ok(())
    }

    /// Deletes documents. Returns for each id whether it existed.
    ///
    /// # Errors
    ///
    /// If the disk fails: nothing is deleted then. [`IndexError::NotShown`] if the deletion may be durable.
    pub async fn delete(self: &Arc<Self>, doc_ids: impl Into<Arc<[String]>>) -> Result<Vec<bool>, IndexError> {
        let doc_ids = doc_ids.into();
        let were_there = self.in_turn(move |index| index.remove(doc_ids)).await?;
        self.rebuild_if_due();
        Ok(were_there)
    }

    pub(super) fn put(&self, prepared: Vec<Prepared>, mode: Mode) -> Result<Vec<WriteOutcome>, IndexError> {
        self.require_present()?;
        // The reader that they were compared with had every acknowledged write, so a change that is not shown yet
        // cannot make the result wrong.
        if prepared.iter().all(Prepared::is_unchanged) {
            return Ok(prepared.iter().map(|document| document.outcome).collect());
        }
        let chunks = prepared.iter().map(Prepared::chunks).sum();
        self.commit(chunks, move |transaction| {
            let mut outcomes = Vec::with_capacity(prepared.len());
            let mut changed = Vec::new();
            for document in &prepared {
                let (outcome, change) = put(transaction, document, mode)?;
                outcomes.push(outcome);
                changed.extend(change);
            }
            Ok((outcomes, changed))
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
            // The result is what the transaction finds, because other writers may have been faster.
            let (mut were_there, mut deleted) = (Vec::with_capacity(doc_ids.len()), Vec::new());
            let mut gone = HashSet::new();
            for doc_id in &*doc_ids {
                if let Some((number, document)) = transaction.document_by_id(doc_id)? {
                    transaction.remove_document(number, &document)?;
                    deleted.push(Changed { number, before: Some(document), after: None });
                    gone.insert(doc_id);
                }
                // An id may occur twice. The document is gone the second time, but both occurrences count as found.
                were_there.push(gone.contains(doc_id));
            }
            Ok((were_there, deleted))
        })
    }
}

/// Writes one prepared document, unless the store has changed in a way that makes it unnecessary.
fn put(
    transaction: &Transaction,
    document: &Prepared,
    mode: Mode,
) -> Result<(WriteOutcome, Option<Changed>), StoreError> {
    match &document.change {
        DocumentChange::Nothing => Ok((document.outcome, None)),
        DocumentChange::Revision => put_revision(transaction, document).map(|()| (document.outcome, None)),
        DocumentChange::Everything(chunks) => put_everything(transaction, document, chunks, mode),
    }
}

/// Writes a revision, unless another write came in between: the revision does not belong to that content.
fn put_revision(transaction: &Transaction, document: &Prepared) -> Result<(), StoreError> {
    match transaction.document_by_id(&document.incoming.doc_id)? {
        Some((number, known)) if document.incoming.is_what(&known.content_hash, known.source.as_deref()) => {
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
) -> Result<(WriteOutcome, Option<Changed>), StoreError> {
    let before = transaction.document_by_id(&document.incoming.doc_id)?;
    if before.is_none() && mode == Mode::UpdateOnly {
        return Ok((WriteOutcome::NotFound, None));
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
    Ok((WriteOutcome::Written, Some(Changed { number, before, after: Some((after, vectors)) })))
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

/// Metadata as stored.
fn json(metadata: &Metadata) -> String {
    // Serialising a map of strings to JSON values cannot fail.
    serde_json::to_string(metadata).unwrap_or_default()
}

#[cfg(test)]
mod tests;
