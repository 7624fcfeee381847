//! Reading documents, as the latest acknowledged writes left them.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use uuid::Uuid;

use super::{CONCURRENT_REQUESTS, Index};
use crate::VectorDatabaseError;
use crate::document::{self, DocumentRecord, RECORD_PROPERTIES, StoredChunk, WholeDocument};
use crate::object::{Found, Order, Search};
use crate::object_id;
use crate::predicate::Predicate;
use crate::property::Property;

/// How often a document is read again that was replaced in between.
const MAX_READS: u32 = 5;

/// The most hashes in one search for vectors, because each finds a vector.
const HASHES_AT_ONCE: usize = 200;

/// Further searches for vectors whose chunks were hidden by others.
const MORE_ROUNDS: usize = 4;

/// The most chunks with their texts and vectors in one reply.
const CHUNKS_AT_ONCE: usize = 200;

/// What is read of a text.
const TEXT_PROPERTIES: &[Property] = &[Property::TEXT, Property::OUTLINE];

/// The most vectors in one reply.
const VECTORS_AT_ONCE: usize = 500;

impl Index {
    /// The record of a document. None if there is none.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn record(&self, doc_id: &str) -> Result<Option<DocumentRecord>, VectorDatabaseError> {
        self.record_of(self.document_id(doc_id)).await
    }

    /// The records of documents, in the order of their ids.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn records(&self, doc_ids: &[String]) -> Result<Vec<Option<DocumentRecord>>, VectorDatabaseError> {
        let ids: Vec<Uuid> = doc_ids.iter().map(|doc_id| self.document_id(doc_id)).collect();
        self.records_of(&ids).await
    }

    /// A document with its text. None if there is none.
    ///
    /// # Errors
    ///
    /// If the vector database fails, or the document is replaced again and again.
    pub async fn whole_document(&self, doc_id: &str) -> Result<Option<WholeDocument>, VectorDatabaseError> {
        for _ in 0..MAX_READS {
            let Some(record) = self.record(doc_id).await? else { return Ok(None) };
            let id = object_id::of_text(record.id, &record.generation);
            let Some(object) = self.database.object(&self.collections.texts, id, TEXT_PROPERTIES).await? else {
                continue;
            };
            let text = document::text(&object.properties, Property::TEXT)?.to_owned();
            let outline = document::text(&object.properties, Property::OUTLINE)?;
            let chunks =
                serde_json::from_str(outline).map_err(|error| VectorDatabaseError::Reply(error.to_string()))?;
            return Ok(Some(WholeDocument { record, text, chunks }));
        }
        Err(VectorDatabaseError::Reply("the text of a document is missing".to_owned()))
    }

    /// The text of a document. None if the document was replaced or deleted since its record was read.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn text(&self, record: &DocumentRecord) -> Result<Option<String>, VectorDatabaseError> {
        let id = object_id::of_text(record.id, &record.generation);
        let object = self.database.object(&self.collections.texts, id, TEXT_PROPERTIES).await?;
        object.map(|object| Ok(document::text(&object.properties, Property::TEXT)?.to_owned())).transpose()
    }

    /// The texts of documents, in order, see [`Self::text`].
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn texts(&self, records: &[DocumentRecord]) -> Result<Vec<Option<String>>, VectorDatabaseError> {
        stream::iter(records.to_vec())
            .map(|record| async move { self.text(&record).await })
            .buffered(CONCURRENT_REQUESTS)
            .try_collect()
            .await
    }

    /// The vectors of chunks, by the ids of their objects. Those that are gone are missing.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn vectors(&self, ids: &[Uuid]) -> Result<HashMap<Uuid, Vec<f32>>, VectorDatabaseError> {
        let mut vectors = HashMap::new();
        for ids in ids.chunks(VECTORS_AT_ONCE) {
            let predicate = Predicate::is_in(Property::ID, ids.iter().map(Uuid::to_string).collect());
            let found = self.vectors_of(&predicate, Order::Any, ids.len()).await?;
            vectors.extend(found.into_iter().map(|object| (object.id, object.vector)));
        }
        let missing: Vec<Uuid> = ids.iter().filter(|id| !vectors.contains_key(id)).copied().collect();
        vectors.extend(self.single_vectors(missing).await?);
        Ok(vectors)
    }

    /// The vectors of chunks, each asked for by its id: a replica may have an object without its vector, or may lack it.
    async fn single_vectors(&self, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Vec<f32>>, VectorDatabaseError> {
        let read = |id: Uuid| async move { Ok((id, self.database.vector(&self.collections.chunks, id).await?)) };
        let read: Vec<(Uuid, Option<Vec<f32>>)> =
            stream::iter(ids).map(read).buffered(CONCURRENT_REQUESTS).try_collect::<_>().await?;
        Ok(read.into_iter().filter_map(|(id, vector)| Some((id, vector?))).collect())
    }

    /// The chunks of documents with their vectors, by the ids of the documents, in order. A document that was replaced
    /// or deleted since its record was read lacks chunks.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn chunks(
        &self,
        records: &[DocumentRecord],
    ) -> Result<HashMap<Uuid, Vec<StoredChunk>>, VectorDatabaseError> {
        let ids_of = |record: &DocumentRecord| {
            let (id, generation) = (record.id, record.generation.clone());
            let count = u32::try_from(record.chunk_count).unwrap_or(u32::MAX);
            (0..count).map(move |ordinal| object_id::of_chunk(id, &generation, ordinal))
        };
        let ids: Vec<Uuid> = records.iter().flat_map(ids_of).collect();
        let mut chunks: HashMap<Uuid, Vec<StoredChunk>> = HashMap::new();
        for ids in ids.chunks(CHUNKS_AT_ONCE) {
            let predicate = Predicate::is_in(Property::ID, ids.iter().map(Uuid::to_string).collect());
            let search = Search {
                collection: &self.collections.chunks,
                predicate: &predicate,
                order: Order::Any,
                limit: ids.len(),
                properties: StoredChunk::PROPERTIES,
                has_vectors: true,
            };
            let found = self.database.search(&search).await?;
            let found = self.with_properties(&search, found).await?;
            let missing = found.iter().filter(|found| found.vector.is_empty()).map(|found| found.id).collect();
            let mut single = self.single_vectors(missing).await?;
            for mut found in found {
                if found.vector.is_empty() {
                    // Without a vector the document is incomplete.
                    let Some(vector) = single.remove(&found.id) else { continue };
                    found.vector = vector;
                }
                let (document, chunk) = StoredChunk::read(found)?;
                chunks.entry(document).or_default().push(chunk);
            }
        }
        chunks.values_mut().for_each(|chunks| chunks.sort_by_key(|chunk| chunk.ordinal));
        Ok(chunks)
    }

    /// What a search found. Objects that are not whole get the properties that a majority has, and are left out if there
    /// are no such objects.
    pub(super) async fn with_properties(
        &self,
        search: &Search<'_>,
        found: Vec<Found>,
    ) -> Result<Vec<Found>, VectorDatabaseError> {
        let is_whole = |found: &Found| found.is_whole(search.properties);
        let partial: Vec<Uuid> = found.iter().filter(|each| !is_whole(each)).map(|each| each.id).collect();
        if partial.is_empty() {
            return Ok(found);
        }
        let mut objects = self.database.objects(search.collection, &partial, search.properties).await?;
        let filled = |mut found: Found| {
            if !is_whole(&found) {
                found.properties = objects.remove(&found.id)?.properties;
            }
            Some(found)
        };
        Ok(found.into_iter().filter_map(filled).collect())
    }

    /// The vectors of about `most` chunks that are not chosen by what they say. Some may belong to replaced documents.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn sample_vectors(&self, most: usize) -> Result<Vec<Vec<f32>>, VectorDatabaseError> {
        // The ids are hashes, so their order says nothing.
        let found = self.vectors_of(&Predicate::Everything, Order::Id(None), most).await?;
        Ok(found.into_iter().map(|object| object.vector).collect())
    }

    async fn vectors_of(
        &self,
        predicate: &Predicate,
        order: Order<'_>,
        limit: usize,
    ) -> Result<Vec<Found>, VectorDatabaseError> {
        let collection = &self.collections.chunks;
        let properties = &[Property::HASH];
        let search = Search { collection, predicate, order, limit, properties, has_vectors: true };
        let mut found = self.database.search(&search).await?;
        found.retain(|object| !object.vector.is_empty());
        Ok(found)
    }

    /// In how many chunks each of these terms is. Replaced chunks count until they are deleted.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn frequencies(&self, terms: &BTreeSet<String>) -> Result<HashMap<String, u64>, VectorDatabaseError> {
        let count = |term: String| async move {
            let predicate = Predicate::is(Property::TERMS, term.as_str());
            let sums = self.database.sums(&self.collections.chunks, &predicate, &[]).await?;
            Ok::<_, VectorDatabaseError>((term, sums.count))
        };
        stream::iter(terms.clone()).map(count).buffered(CONCURRENT_REQUESTS).try_collect().await
    }

    /// The vectors of chunks that are stored, by the hash of their embedded text. Not all hashes have one.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn vectors_by_hash(&self, hashes: &[String]) -> Result<HashMap<String, Vec<f32>>, VectorDatabaseError> {
        let mut vectors = HashMap::new();
        let mut left: HashSet<&String> = hashes.iter().collect();
        // A hash may be that of many chunks, which hide others: those are asked for again, but not for ever.
        for _ in 0..hashes.len().div_ceil(HASHES_AT_ONCE) + MORE_ROUNDS {
            if left.is_empty() {
                break;
            }
            let asked: Vec<String> = left.iter().take(HASHES_AT_ONCE).map(|hash| (*hash).clone()).collect();
            let predicate = Predicate::is_in(Property::HASH, asked.clone());
            let found = self.vectors_of(&predicate, Order::Any, HASHES_AT_ONCE).await?;
            let is_all = found.len() < HASHES_AT_ONCE;
            for object in found {
                let Some(hash) = document::optional_text(&object.properties, Property::HASH) else { continue };
                let hash = hash.to_owned();
                left.remove(&hash);
                vectors.insert(hash, object.vector);
            }
            if is_all {
                left.retain(|hash| !asked.contains(hash));
            }
        }
        Ok(vectors)
    }

    pub(super) fn document_id(&self, doc_id: &str) -> Uuid {
        object_id::of_document(&self.name, doc_id)
    }

    pub(super) async fn records_of(&self, ids: &[Uuid]) -> Result<Vec<Option<DocumentRecord>>, VectorDatabaseError> {
        let objects = self.database.objects(&self.collections.documents, ids, RECORD_PROPERTIES).await?;
        let record =
            |id: &Uuid| objects.get(id).map(|object| DocumentRecord::read(object.id, &object.properties)).transpose();
        ids.iter().map(record).collect()
    }

    /// The records of documents, as any replica has them, in any order. Those that no replica has are missing.
    pub(super) async fn records_on_all_replicas(
        &self,
        ids: &[Uuid],
    ) -> Result<Vec<DocumentRecord>, VectorDatabaseError> {
        let documents = &self.collections.documents;
        let objects = self.database.objects_on_all_replicas(documents, ids, RECORD_PROPERTIES).await?;
        objects.values().map(|object| DocumentRecord::read(object.id, &object.properties)).collect()
    }

    async fn record_of(&self, id: Uuid) -> Result<Option<DocumentRecord>, VectorDatabaseError> {
        let object = self.database.object(&self.collections.documents, id, RECORD_PROPERTIES).await?;
        object.map(|object| DocumentRecord::read(object.id, &object.properties)).transpose()
    }
}
