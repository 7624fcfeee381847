use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use ragengine_compute as compute;
use ragengine_embedding::Embedding;
use ragengine_index::chunking::{Chunk as CutChunk, Sizes};
use ragengine_index::whole_document::Places;
use ragengine_index::writer::{
    Cutting, DocumentChange, Incoming, KnownDocument, Mode, Prepared, PreparedChunk, WriteOutcome, prepare,
};
use ragengine_index::{Analyzer, IndexError, NamedText};
use ragengine_stores::StoreError;
use ragengine_vector_database::{Chunk, ChunkPlace, Document, DocumentRecord};
use tracing::warn;

use super::ExternalIndex;
use super::chunks::hash_of;
use super::fault::{of_catalogue, of_engine};
use super::words::terms_of_chunk;

/// How long a change may be left open, as in the catalogue.
const LONGEST_CHANGE: Duration = Duration::from_secs(3600);

/// How often it is asked whether all replicas have a change.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// Revisions that are written at the same time.
const REVISIONS_AT_ONCE: usize = 16;

impl ExternalIndex {
    /// Writes documents, whose ids must differ. When this returns, every later search of every server finds them.
    ///
    /// As with a local index, texts are split and embedded without a lock, and compared again when they are written. Of
    /// two servers that write one document at the same time, the later write wins.
    ///
    /// # Errors
    ///
    /// If the model is not the index's, a text cannot be split or embedded, or the vector database or PostgreSQL fails.
    /// Some of the documents may be written then, each of them whole; the request may be sent again.
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
        let mut revised = Vec::new();
        for Written { incoming, outcome, change } in written {
            outcomes.push(outcome);
            match change {
                Change::Nothing => {}
                Change::Everything(document) => documents.push(*document),
                Change::Revision => revised.push(incoming),
            }
        }
        stream::iter(revised)
            .map(|incoming| async move { self.put_revision(&incoming).await })
            .buffer_unordered(REVISIONS_AT_ONCE)
            .try_collect::<Vec<()>>()
            .await?;
        self.engine.put(&documents).await.map_err(of_engine)?;
        Ok(outcomes)
    }

    async fn put_revision(&self, incoming: &Incoming) -> Result<(), IndexError> {
        let Incoming { doc_id, content_hash, source, revision, .. } = incoming;
        let Some(revision) = revision else { return Ok(()) };
        let put = self.engine.put_revision(doc_id, content_hash, source.as_deref(), revision);
        put.await.map(drop).map_err(of_engine)
    }

    /// Deletes documents. Returns for each id whether it existed.
    ///
    /// # Errors
    ///
    /// If the vector database or PostgreSQL fails. Some may be deleted then.
    pub async fn delete(self: &Arc<Self>, doc_ids: &Arc<[String]>) -> Result<Vec<bool>, IndexError> {
        let doc_ids = Arc::clone(doc_ids);
        self.changing(move |index| async move { index.engine.delete(&doc_ids).await.map_err(of_engine) }).await
    }

    /// Changes documents, one request of this server after the other. Once begun, it goes on without the caller.
    ///
    /// The catalogue knows that the index is being changed, so that no answer that is made meanwhile is given again,
    /// and nothing is changed while the database does not answer.
    pub(super) async fn changing<T, F>(
        self: &Arc<Self>,
        change: impl FnOnce(Arc<Self>) -> F + Send + 'static,
    ) -> Result<T, IndexError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, IndexError>> + Send + 'static,
    {
        let index = Arc::clone(self);
        // A caller that leaves while it waits leaves nothing behind.
        let writing = Arc::clone(&self.writing).lock_owned().await;
        let changing = tokio::spawn(async move {
            let _writing = writing;
            index.require_there(index.catalogue.begin_change(index.number).await).await?;
            let changed = change(Arc::clone(&index)).await;
            // A replica that is behind does not find the change, so it is not over for readers. One open change is enough
            // for all of them.
            if index.engine.may_be_behind() && !index.is_left_open.swap(true, Ordering::AcqRel) {
                tokio::spawn(Arc::clone(&index).end_when_all_have_it());
                return changed;
            }
            // Also after an error, because some documents may be changed.
            let ended = index.require_there(index.catalogue.end_change(index.number).await).await;
            let changed = changed?;
            ended.map(|()| changed)
        });
        match changing.await {
            Ok(changed) => changed,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(IndexError::ShuttingDown),
            },
        }
    }

    /// Ends a change when the replicas have it. The catalogue does not wait longer than an hour.
    async fn end_when_all_have_it(self: Arc<Self>) {
        let began = Instant::now();
        while self.engine.require_all_replicas().await.is_err() && began.elapsed() < LONGEST_CHANGE {
            tokio::time::sleep(ASK_AGAIN).await;
        }
        self.is_left_open.store(false, Ordering::Release);
        if let Err(error) = self.catalogue.end_change(self.number).await {
            let (index, kind) = (self.name(), error.kind());
            warn!(index, kind, "the end of a change was not noted: it ends an hour after its beginning");
        }
    }

    async fn require_there(&self, counted: Result<bool, StoreError>) -> Result<(), IndexError> {
        if counted.map_err(of_catalogue)? { Ok(()) } else { Err(self.absence().await) }
    }

    /// Whether a change is being made by this server.
    pub fn is_changing(&self) -> bool {
        self.writing.try_lock().is_err()
    }
}

/// A document with what the vector database gets of it.
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
        let mut chunk = chunk_of(prepared.chunk(), prepared.hash(), prepared.vector().to_vec(), &named, analyzer);
        let place = places.next(&chunk.text);
        (chunk.place.start, chunk.place.end) = (place.map(|(start, _)| start), place.map(|(_, end)| end));
        chunk
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

/// A chunk for the vector database, whose place in the text is not known yet.
pub(super) fn chunk_of(
    chunk: &CutChunk,
    hash: [u8; 32],
    vector: Vec<f32>,
    document: &NamedText,
    analyzer: &mut Analyzer,
) -> Chunk {
    let (heading, page) = (chunk.heading.clone(), chunk.page);
    Chunk {
        place: ChunkPlace { start: None, end: None, heading, page, hash: hex::encode(hash) },
        terms: terms_of_chunk(analyzer, document, chunk.heading.as_deref(), &chunk.text),
        text: chunk.text.clone(),
        vector,
    }
}
