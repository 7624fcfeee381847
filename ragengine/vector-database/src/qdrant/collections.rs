//! Collections.

use qdrant_client::qdrant::{
    CreateCollection, CreateCollectionBuilder, CreateFieldIndexCollection, CreateFieldIndexCollectionBuilder,
    DeleteCollection, Distance, FieldType, GetCollectionInfoRequest, HnswConfigDiffBuilder, ListCollectionsRequest,
    Modifier, SparseVectorParamsBuilder, SparseVectorsConfigBuilder, UuidIndexParamsBuilder, VectorParamsBuilder,
    VectorsConfigBuilder,
};

use super::payload::digit_fields;
use super::{Client, EMBEDDING, Operation, WORDS, is_not_found, send};
use crate::VectorDatabaseError;
use crate::collection::{CollectionDescription, CollectionShape, DataType, PropertyShape, VectorIndex, VectorShape};
use crate::collection_name::CollectionName;

impl Client {
    /// Makes a collection, or completes the one that is there. Returns whether it was made.
    ///
    /// # Errors
    ///
    /// If Qdrant fails or refuses.
    pub async fn create_collection(&self, shape: &CollectionShape<'_>) -> Result<bool, VectorDatabaseError> {
        let is_new = self.collection(shape.name).await?.is_none();
        if is_new {
            let request = CreateCollection::from(request_to_create(shape));
            if let Err(error) = send!(self, Operation::Schema, collections.create(request)).await {
                // Another writer, or an attempt whose reply was lost, may have been faster.
                if self.collection(shape.name).await?.is_none() {
                    return Err(error);
                }
            }
        }
        // Indexes of fields that are there stay as they are.
        for (field, field_type) in shape.properties.iter().flat_map(indexed_fields) {
            let mut index = CreateFieldIndexCollectionBuilder::new(shape.name.as_str(), field, field_type).wait(true);
            if field_type == FieldType::Uuid {
                index = index.field_index_params(on_disk());
            }
            let request = CreateFieldIndexCollection::from(index);
            send!(self, Operation::Schema, points.create_field_index(request)).await?;
        }
        Ok(is_new)
    }

    /// Describes a collection. None if it does not exist.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn collection(
        &self,
        name: &CollectionName,
    ) -> Result<Option<CollectionDescription>, VectorDatabaseError> {
        let request = GetCollectionInfoRequest { collection_name: name.as_str().to_owned() };
        let reply = match send!(self, Operation::Schema, collections.get(request)).await {
            Ok(reply) => reply,
            Err(error) if is_not_found(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let params = reply.result.and_then(|info| info.config).and_then(|config| config.params);
        let Some(params) = params else {
            return Err(VectorDatabaseError::Reply("a collection has no parameters".to_owned()));
        };
        let replicas = params.replication_factor.unwrap_or(1);
        Ok(Some(CollectionDescription { replicas, shards: params.shard_number }))
    }

    /// The names of all collections.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn collections(&self) -> Result<Vec<String>, VectorDatabaseError> {
        let reply = send!(self, Operation::Schema, collections.list(ListCollectionsRequest {})).await?;
        Ok(reply.collections.into_iter().map(|collection| collection.name).collect())
    }

    /// Deletes a collection and its objects. Succeeds too if there is none.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn delete_collection(&self, name: &CollectionName) -> Result<(), VectorDatabaseError> {
        let request = DeleteCollection { collection_name: name.as_str().to_owned(), timeout: None };
        match send!(self, Operation::Delete, collections.delete(request)).await {
            Ok(_) => Ok(()),
            Err(error) if is_not_found(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn request_to_create(shape: &CollectionShape<'_>) -> CreateCollectionBuilder {
    let majority = shape.replicas / 2 + 1;
    let request = CreateCollectionBuilder::new(shape.name.as_str())
        .shard_number(shape.shards)
        .replication_factor(shape.replicas)
        .write_consistency_factor(majority);
    let mut vectors = VectorsConfigBuilder::default();
    let mut words = SparseVectorsConfigBuilder::default();
    if let Some(VectorShape { index, dimensions }) = shape.vectors {
        // The distance is that of L2, so vectors are kept as they are.
        let embedding = VectorParamsBuilder::new(dimensions as u64, Distance::Euclid).hnsw_config(graph(index));
        vectors.add_named_vector_params(EMBEDDING, embedding);
        words.add_named_vector_params(WORDS, SparseVectorParamsBuilder::default().modifier(Modifier::Idf));
    }
    request.vectors_config(vectors).sparse_vectors_config(words)
}

fn graph(index: VectorIndex) -> HnswConfigDiffBuilder {
    let graph = HnswConfigDiffBuilder::default();
    match index {
        // Without links there is no graph, and every vector is compared.
        VectorIndex::Flat => graph.m(0),
        VectorIndex::Hnsw { max_connections, ef_construction, .. } => {
            graph.m(u64::from(max_connections)).ef_construct(u64::from(ef_construction))
        }
    }
}

/// Hashes are many, and each filter asks for few. Versions before 1.19 have no other field for it.
fn on_disk() -> UuidIndexParamsBuilder {
    UuidIndexParamsBuilder::default().on_disk(true)
}

/// The fields of a property that are searched, compared or counted, with the types of their indexes.
fn indexed_fields((property, data_type): &PropertyShape) -> Vec<(String, FieldType)> {
    let itself = |field_type| vec![(property.name().to_owned(), field_type)];
    match data_type {
        DataType::Stored | DataType::StoredInteger => Vec::new(),
        DataType::Exact | DataType::Words | DataType::Group => itself(FieldType::Keyword),
        DataType::Hashes => itself(FieldType::Uuid),
        DataType::Number => itself(FieldType::Integer),
        DataType::Integer => digit_fields(*property).map(|(field, _)| (field, FieldType::Integer)).collect(),
    }
}
