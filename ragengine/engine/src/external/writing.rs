use std::collections::HashMap;
use std::sync::Arc;

use ragengine_compute as compute;
use ragengine_embedding::Embedding;
use ragengine_index::chunking::Sizes;
use ragengine_index::whole_document::Places;
use ragengine_index::writer::{
    Cutting, DocumentChange, Incoming, KnownDocument, Mode, Prepared, PreparedChunk, WriteOutcome, prepare,
};
use ragengine_index::{Analyzer, IndexError, NamedText};
use ragengine_weaviate::{Chunk, ChunkPlace, Document, DocumentRecord};

use super::ExternalIndex;
use super::chunks::hash_of;
use super::fault::{of_catalogue, of_engine};
use super::words::terms_of_chunk;

impl ExternalIndex {
    /// Writes documents, whose ids must differ. When this returns, every later search of every server finds them.
    ///
    /// As with a local index, texts are split and embedded without a lock, and compared again when they are written. Of
    /// two servers that write one document at the same time, the later write wins.
    ///
    /// # Errors
    ///
    /// If the model is not the index's, a text cannot be split or embedded, or Weaviate or the database fails. Some of
    /// the documents may be written then, each of them whole; the request may be sent again.
    pub async fn write(
        self: &Arc<Self>,
        incoming: Vec<Incoming>,
        mode: Mode,
        embedding: &Embedding,
    ) -> Result<Vec<WriteOutcome>, IndexError> {
        self.record.require_model(&self.name, embedding)?;
        let known = self.known_documents(&incoming).await?;
        let sizes = Sizes {
            max_tokens: self.record.max_tokens as usize,
            overlap_tokens: self.record.overlap_tokens as usize,
            max_passage_tokens: embedding.max_passage_tokens(),
        };
        let counter = embedding.clone();
        let mut prepared = compute::run_write(move |caller| {
            let count_tokens = |text: &str| counter.count_tokens(text);
            let has_document_names = counter.has_document_names();
            let cutting = Cutting { sizes, has_document_names, count_tokens: &count_tokens, caller };
            prepare(&known, incoming, mode, cutting)
        })
        .await?;
        let dimensions = self.record.dimensions;
        let hashes: Vec<String> = prepared.hashes().map(hex::encode).collect();
        let stored = self.engine.vectors_by_hash(&hashes).await.map_err(of_engine)?;
        let stored = stored.into_iter().map(|(hash, vector)| (hash_of(&hash), vector)).collect();
        prepared.fill(&stored, dimensions)?;
        let vectors = embedding.embed_passages(prepared.texts_to_embed()).await?;
        let mut analyzer = self.analyzer.clone();
        let prepared = compute::run_write(move |_| {
            let prepared = prepared.with_vectors(vectors, dimensions)?;
            Ok::<_, IndexError>(prepared.into_iter().map(|document| Written::of(document, &mut analyzer)).collect())
        })
        .await?;
        self.put(prepared, mode).await
    }

    /// What writers compare with.
    async fn known_documents(&self, incoming: &[Incoming]) -> Result<HashMap<String, KnownDocument>, IndexError> {
        let ids: Vec<String> = incoming.iter().map(|document| document.doc_id.clone()).collect();
        let records = self.engine.records(&ids).await.map_err(of_engine)?;
        let known = |record: DocumentRecord| {
            let DocumentRecord { doc_id, content_hash, source, revision, .. } = record;
            (doc_id, KnownDocument { content_hash, source, revision })
        };
        Ok(records.into_iter().flatten().map(known).collect())
    }

    async fn put(self: &Arc<Self>, written: Vec<Written>, mode: Mode) -> Result<Vec<WriteOutcome>, IndexError> {
        if written.iter().all(|document| matches!(document.change, Change::Nothing)) {
            return Ok(written.iter().map(|document| document.outcome).collect());
        }
        self.changing(move |index| async move { index.put_now(written, mode).await }).await
    }

    async fn put_now(&self, mut written: Vec<Written>, mode: Mode) -> Result<Vec<WriteOutcome>, IndexError> {
        if mode == Mode::UpdateOnly {
            let ids: Vec<String> = written.iter().map(|document| document.incoming.doc_id.clone()).collect();
            let records = self.engine.records(&ids).await.map_err(of_engine)?;
            for (document, _) in written.iter_mut().zip(records).filter(|(_, record)| record.is_none()) {
                (document.outcome, document.change) = (WriteOutcome::NotFound, Change::Nothing);
            }
        }
        let (mut outcomes, mut documents) = (Vec::with_capacity(written.len()), Vec::new());
        for Written { incoming, outcome, change } in written {
            outcomes.push(outcome);
            match change {
                Change::Nothing => {}
                Change::Everything(document) => documents.push(*document),
                Change::Revision => {
                    let Incoming { doc_id, content_hash, source, revision, .. } = &incoming;
                    let put = self.engine.put_revision(doc_id, content_hash, source.as_deref(), revision.as_deref());
                    put.await.map_err(of_engine)?;
                }
            }
        }
        self.engine.put(&documents).await.map_err(of_engine)?;
        Ok(outcomes)
    }

    /// Deletes documents. Returns for each id whether it existed.
    ///
    /// # Errors
    ///
    /// If Weaviate or the database fails. Some may be deleted then.
    pub async fn delete(self: &Arc<Self>, doc_ids: &Arc<[String]>) -> Result<Vec<bool>, IndexError> {
        let doc_ids = Arc::clone(doc_ids);
        self.changing(move |index| async move { index.engine.delete(&doc_ids).await.map_err(of_engine) }).await
    }

    /// Changes documents, one request of this server after the other, and goes on without the caller.
    ///
    /// The number of changes is raised before, so that nothing is changed while the database does not answer, and after,
    /// so that no answer that was made in between is given again.
    pub(super) async fn changing<T, F>(
        self: &Arc<Self>,
        change: impl FnOnce(Arc<Self>) -> F + Send + 'static,
    ) -> Result<T, IndexError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, IndexError>> + Send + 'static,
    {
        let index = Arc::clone(self);
        let changing = tokio::spawn(async move {
            let _writing = index.writing.lock().await;
            index.count_change().await?;
            let changed = change(Arc::clone(&index)).await;
            // Also after an error, because some documents may be changed.
            let counted = index.count_change().await;
            let changed = changed?;
            counted.map(|()| changed)
        });
        match changing.await {
            Ok(changed) => changed,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(IndexError::ShuttingDown),
            },
        }
    }

    async fn count_change(&self) -> Result<(), IndexError> {
        let changes = self.catalogue.changed(self.number).await.map_err(of_catalogue)?;
        changes.map(drop).ok_or_else(|| self.gone())
    }
}

/// A document with what Weaviate gets of it.
struct Written {
    incoming: Incoming,
    outcome: WriteOutcome,
    change: Change,
}

enum Change {
    Nothing,
    Revision,
    Everything(Box<Document>),
}

impl Written {
    fn of(prepared: Prepared, analyzer: &mut Analyzer) -> Self {
        let Prepared { incoming, outcome, change } = prepared;
        let change = match change {
            DocumentChange::Nothing => Change::Nothing,
            DocumentChange::Revision => Change::Revision,
            DocumentChange::Everything(chunks) => Change::Everything(Box::new(document(&incoming, &chunks, analyzer))),
        };
        Self { incoming, outcome, change }
    }
}

fn document(incoming: &Incoming, chunks: &[PreparedChunk], analyzer: &mut Analyzer) -> Document {
    let named = NamedText::of(&incoming.metadata);
    let mut places = Places::of(&incoming.text);
    let chunk = |prepared: &PreparedChunk| {
        let chunk = prepared.chunk();
        let place = places.next(&chunk.text);
        Chunk {
            place: ChunkPlace {
                start: place.map(|(start, _)| start),
                end: place.map(|(_, end)| end),
                heading: chunk.heading.clone(),
                page: chunk.page,
                hash: hex::encode(prepared.hash()),
            },
            terms: terms_of_chunk(analyzer, &named, chunk.heading.as_deref(), &chunk.text),
            text: chunk.text.clone(),
            vector: prepared.vector().to_vec(),
        }
    };
    Document {
        chunks: chunks.iter().map(chunk).collect(),
        doc_id: incoming.doc_id.clone(),
        text: incoming.text.to_string(),
        metadata: (*incoming.metadata).clone(),
        source: incoming.source.clone(),
        content_hash: incoming.content_hash.clone(),
        revision: incoming.revision.clone(),
    }
}
