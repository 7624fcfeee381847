//! Writing documents.

use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tracing::warn;
use uuid::Uuid;

use super::Index;
use crate::VectorDatabaseError;
use crate::document::{self, Chunk, Document, DocumentRecord};
use crate::filter::{Searchable, of_metadata};
use crate::generation::Generation;
use crate::object::Object;
use crate::object_id;
use crate::predicate::Predicate;
use crate::property::Property;

/// Chunks that are made and written together.
const CHUNKS_AT_ONCE: usize = 256;

/// Documents in one condition of a deletion.
const DELETED_AT_ONCE: usize = 200;

impl Index {
    /// Writes documents, whose ids must differ, in place of those with the same ids. When this returns, every
    /// later search finds the new chunks only.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::ManyValues`] and [`VectorDatabaseError::Vector`]: nothing is written then. If the vector
    /// database fails, some of the documents may be written, each of them whole. It may be called again.
    pub async fn put(&self, documents: &[Document]) -> Result<(), VectorDatabaseError> {
        let ids: Vec<Uuid> = documents.iter().map(|document| self.document_id(&document.doc_id)).collect();
        let searchable = documents.iter().map(|document| self.searchable(document)).collect::<Result<Vec<_>, _>>()?;
        let before = self.records_of(&ids).await?;
        let (generation, now_us) = (Generation::new(), now_us());
        let written = self.put_generation(&generation, documents, &ids, &searchable).await;
        if let Err(error) = written {
            // What was written of it is not shown, but searches would find it and pass over it.
            self.delete_writes(ids.iter().map(|id| (&generation, *id)).collect()).await;
            return Err(error);
        }
        let record = |(position, document): (usize, &Document)| {
            let (id, before) = (ids[position], before[position].as_ref());
            let place_us = before.map_or(now_us + position as u64, |before| before.place_us);
            with_searchable(record_of(id, &generation, place_us, document), &searchable[position])
        };
        let records: Vec<Object> = documents.iter().enumerate().map(record).collect();
        // From here on, the new chunks are shown, and those before are not.
        self.database.put(&self.collections.documents, &records).await?;
        self.delete_replaced(before.iter().flatten()).await;
        Ok(())
    }

    /// Writes the chunks and texts of documents, some chunks at a time: what filters ask of a document is in each of
    /// its chunks.
    async fn put_generation(
        &self,
        generation: &Generation,
        documents: &[Document],
        ids: &[Uuid],
        searchable: &[Searchable],
    ) -> Result<(), VectorDatabaseError> {
        let mut chunks = Vec::with_capacity(CHUNKS_AT_ONCE);
        for ((document, id), searchable) in documents.iter().zip(ids).zip(searchable) {
            for chunk in chunk_objects(*id, generation, document, searchable) {
                chunks.push(chunk);
                if chunks.len() == CHUNKS_AT_ONCE {
                    self.database.put_vectors(&self.collections.chunks, &chunks, self.shards).await?;
                    chunks.clear();
                }
            }
        }
        self.database.put_vectors(&self.collections.chunks, &chunks, self.shards).await?;
        let texts: Vec<Object> =
            documents.iter().zip(ids).map(|(document, id)| text_object(*id, generation, document)).collect();
        self.database.put(&self.collections.texts, &texts).await
    }

    /// Sets the revision of a document whose content hash and source are still these. Returns whether it was set: not if
    /// they are others, or a replica does not answer. The revision is sent again with the next synchronisation.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn put_revision(
        &self,
        doc_id: &str,
        content_hash: &str,
        source: Option<&str>,
        revision: &str,
    ) -> Result<bool, VectorDatabaseError> {
        let Some(record) = self.record(doc_id).await? else { return Ok(false) };
        if record.content_hash != content_hash || record.source.as_deref() != source {
            return Ok(false);
        }
        // Another writer may replace the document now, so only this property is written, and it names its content.
        let kept = document::kept_revision(content_hash, revision);
        let set = self.database.set_text(&self.collections.documents, record.id, Property::REVISION, &kept).await;
        set.or_else(|error| {
            if !self.is_replicated || !error.is_temporary() {
                return Err(error);
            }
            // The next ones do not wait as long.
            self.database.one_is_missing(&error);
            Ok(false)
        })
    }

    fn searchable(&self, document: &Document) -> Result<Searchable, VectorDatabaseError> {
        let Document { doc_id, metadata, source, .. } = document;
        of_metadata(doc_id, metadata, source.as_deref(), self.database.comparisons())
    }

    /// Deletes the chunks and texts of writes that are not shown any more. What is left stays invisible.
    pub(super) async fn delete_replaced(&self, records: impl Iterator<Item = &DocumentRecord>) {
        self.delete_writes(records.map(|record| (&record.generation, record.id)).collect()).await;
    }

    /// Deletes what writes made of documents.
    async fn delete_writes(&self, writes: Vec<(&Generation, Uuid)>) {
        for predicate in of_writes(writes) {
            let collections = [&self.collections.chunks, &self.collections.texts];
            let deletions = collections.map(|collection| self.database.delete_where(collection, &predicate));
            for error in join_all(deletions).await.into_iter().filter_map(Result::err) {
                warn!(index = self.name, kind = error.kind(), "replaced chunks are left for the next sweep");
            }
        }
    }
}

/// What writes made of documents, for some documents at a time.
fn of_writes(mut writes: Vec<(&Generation, Uuid)>) -> Vec<Predicate> {
    writes.sort_unstable();
    let of_one_write = |of_write: &[(&Generation, Uuid)]| {
        let is_of = |(generation, _): &(&Generation, Uuid)| Predicate::is(Property::GENERATION, generation.as_str());
        Predicate::all([
            of_write.first().map_or(Predicate::Nothing, is_of),
            Predicate::is_in(Property::DOCUMENT, of_write.iter().map(|(_, id)| id.to_string()).collect()),
        ])
    };
    let at_once = |writes: &[(&Generation, Uuid)]| Predicate::any(writes.chunk_by(|a, b| a.0 == b.0).map(of_one_write));
    writes.chunks(DELETED_AT_ONCE).map(at_once).collect()
}

fn now_us() -> u64 {
    u64::try_from(Timestamp::now().as_microsecond()).unwrap_or_default()
}

fn record_of(id: Uuid, generation: &Generation, place_us: u64, document: &Document) -> DocumentRecord {
    DocumentRecord {
        id,
        doc_id: document.doc_id.clone(),
        generation: generation.clone(),
        place_us,
        metadata: document.metadata.clone(),
        metadata_bytes: 0,
        source: document.source.clone(),
        content_hash: document.content_hash.clone(),
        revision: document.revision.clone(),
        chunk_count: document.chunks.len() as u64,
        text_bytes: document.text.len() as u64,
    }
}

/// The object of a document.
fn with_searchable(record: DocumentRecord, searchable: &Searchable) -> Object {
    let mut properties = record.properties();
    properties.extend(asked_by_filters(searchable));
    Object { id: record.id, properties, vector: None }
}

fn text_object(document_id: Uuid, generation: &Generation, document: &Document) -> Object {
    let places: Vec<_> = document.chunks.iter().map(|chunk| &chunk.place).collect();
    let properties = vec![
        (Property::DOCUMENT, Value::from(document_id.to_string())),
        (Property::GENERATION, generation.as_str().into()),
        (Property::TEXT, document.text.as_str().into()),
        (Property::OUTLINE, json!(places).to_string().into()),
    ];
    Object { id: object_id::of_text(document_id, generation), properties, vector: None }
}

fn chunk_objects(
    document_id: Uuid,
    generation: &Generation,
    document: &Document,
    searchable: &Searchable,
) -> impl Iterator<Item = Object> {
    let object = move |(ordinal, chunk): (u32, &Chunk)| {
        let mut properties = vec![
            (Property::DOCUMENT, Value::from(document_id.to_string())),
            (Property::GENERATION, generation.as_str().into()),
            (Property::ORDINAL, ordinal.into()),
            (Property::TEXT, chunk.text.as_str().into()),
            (Property::HASH, chunk.place.hash.as_str().into()),
            (Property::TERMS, chunk.terms.as_str().into()),
        ];
        properties.extend(chunk.place.heading.as_deref().map(|heading| (Property::HEADING, heading.into())));
        properties.extend(chunk.place.page.map(|page| (Property::PAGE, page.into())));
        properties.extend(asked_by_filters(searchable));
        let id = object_id::of_chunk(document_id, generation, ordinal);
        Object { id, properties, vector: Some(chunk.vector.clone()) }
    };
    (0..).zip(&document.chunks).map(object)
}

fn asked_by_filters(searchable: &Searchable) -> [(Property, Value); 2] {
    [(Property::TOKENS, json!(searchable.tokens)), (Property::RANGES, json!(searchable.ranges))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_many_documents_are_deleted_together() {
        let (one, other) = (Generation::at(1), Generation::at(2));
        let id = |number: usize| Uuid::from_u128(number as u128);
        let of = |generation: &Generation, ids: &[usize]| {
            Predicate::all([
                Predicate::is(Property::GENERATION, generation.as_str()),
                Predicate::is_in(Property::DOCUMENT, ids.iter().map(|number| id(*number).to_string()).collect()),
            ])
        };
        assert_eq!(of_writes(Vec::new()), []);
        assert_eq!(of_writes(vec![(&one, id(1))]), [of(&one, &[1])]);
        let both = of_writes(vec![(&other, id(2)), (&one, id(3)), (&one, id(1))]);
        assert_eq!(both, [Predicate::Any(vec![of(&one, &[1, 3]), of(&other, &[2])])]);
        // Each document has a write of its own.
        let generations: Vec<Generation> = (0..450).map(Generation::at).collect();
        let writes = generations.iter().enumerate().map(|(number, generation)| (generation, id(number))).collect();
        let counts: Vec<usize> = of_writes(writes).iter().map(Predicate::conditions).collect();
        assert_eq!(counts, [400, 400, 100]);
    }
}
