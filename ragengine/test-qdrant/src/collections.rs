//! Collections.

use std::sync::Arc;

use qdrant_client::qdrant::collections_server::Collections;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    ChangeAliases, CollectionClusterInfoRequest, CollectionClusterInfoResponse, CollectionConfig,
    CollectionDescription, CollectionExistsRequest, CollectionExistsResponse, CollectionInfo,
    CollectionOperationResponse, CollectionParams, CreateCollection, CreateShardKeyRequest, CreateShardKeyResponse,
    DeleteCollection, DeleteShardKeyRequest, DeleteShardKeyResponse, Distance, GetCollectionInfoRequest,
    GetCollectionInfoResponse, ListAliasesRequest, ListAliasesResponse, ListCollectionAliasesRequest,
    ListCollectionsRequest, ListCollectionsResponse, ListShardKeysRequest, ListShardKeysResponse, Modifier,
    SparseVectorParams, UpdateCollection, UpdateCollectionClusterSetupRequest, UpdateCollectionClusterSetupResponse,
    VectorParams,
};
use qdrant_edge::{
    Distance as EdgeDistance, EdgeConfig, EdgeShard, EdgeSparseVectorParams, EdgeVectorParams, HnswIndexConfig,
    Modifier as EdgeModifier,
};
use tonic::{Request, Response, Status};

use crate::convert::failure;
use crate::{Collection, Service};

impl Service {
    fn create_collection(&self, request: &CreateCollection) -> Result<bool, Status> {
        let mut collections = self.collections.write();
        let name = &request.collection_name;
        if collections.contains_key(name) {
            return Err(Status::already_exists(format!("Collection `{name}` already exists!")));
        }
        let folder = tempfile::tempdir()?;
        let shard = EdgeShard::new(folder.path(), config(request)?).map_err(failure)?;
        let replicas = request.replication_factor.unwrap_or(1);
        let shards = request.shard_number.unwrap_or(1);
        collections.insert(name.clone(), Arc::new(Collection { shard, replicas, shards, _folder: folder }));
        Ok(true)
    }

    fn describe(&self, name: &str) -> Result<CollectionInfo, Status> {
        let collection = self.of_name(name)?;
        let params = CollectionParams {
            shard_number: collection.shards,
            replication_factor: Some(collection.replicas),
            ..CollectionParams::default()
        };
        let config = CollectionConfig { params: Some(params), ..CollectionConfig::default() };
        Ok(CollectionInfo { config: Some(config), ..CollectionInfo::default() })
    }
}

fn config(request: &CreateCollection) -> Result<EdgeConfig, Status> {
    let mut config = EdgeConfig::default();
    match request.vectors_config.as_ref().and_then(|vectors| vectors.config.as_ref()) {
        Some(Config::ParamsMap(map)) => {
            for (name, params) in &map.map {
                config.vectors.insert(name.clone(), vector(params)?);
            }
        }
        Some(Config::Params(_)) => return Err(Status::unimplemented("a vector without a name")),
        None => {}
    }
    for (name, params) in request.sparse_vectors_config.iter().flat_map(|sparse| &sparse.map) {
        config.sparse_vectors.insert(name.clone(), sparse_vector(params)?);
    }
    Ok(config)
}

fn vector(params: &VectorParams) -> Result<EdgeVectorParams, Status> {
    let size = usize::try_from(params.size).map_err(|_| Status::invalid_argument("size"))?;
    match params.distance() {
        Distance::Euclid => Ok(EdgeVectorParams { hnsw_config: graph(params)?, ..euclid(size) }),
        other => Err(Status::unimplemented(format!("distance {other:?}"))),
    }
}

fn euclid(size: usize) -> EdgeVectorParams {
    EdgeVectorParams::builder(size, EdgeDistance::Euclid).build()
}

/// The graph, with the engine's other settings.
fn graph(params: &VectorParams) -> Result<Option<HnswIndexConfig>, Status> {
    let Some(wanted) = params.hnsw_config.as_ref() else { return Ok(None) };
    let mut graph = HnswIndexConfig::default();
    let number = |value: u64| usize::try_from(value).map_err(|_| Status::invalid_argument("hnsw_config"));
    graph.m = wanted.m.map_or(Ok(graph.m), number)?;
    graph.ef_construct = wanted.ef_construct.map_or(Ok(graph.ef_construct), number)?;
    Ok(Some(graph))
}

fn sparse_vector(params: &SparseVectorParams) -> Result<EdgeSparseVectorParams, Status> {
    match params.modifier() {
        Modifier::Idf => Ok(EdgeSparseVectorParams { modifier: Some(EdgeModifier::Idf), ..Default::default() }),
        Modifier::None => Err(Status::unimplemented("words without their frequency")),
    }
}

/// Implements the requests that the vector database crate sends, and refuses the others.
macro_rules! collections_service {
    ($($name:ident($request:ty) -> $reply:ty;)*) => {
        #[tonic::async_trait]
        impl Collections for Service {
            async fn get(
                &self,
                request: Request<GetCollectionInfoRequest>,
            ) -> Result<Response<GetCollectionInfoResponse>, Status> {
                let result = Some(self.describe(&request.into_inner().collection_name)?);
                Ok(Response::new(GetCollectionInfoResponse { result, time: 0.0 }))
            }

            async fn list(
                &self,
                _: Request<ListCollectionsRequest>,
            ) -> Result<Response<ListCollectionsResponse>, Status> {
                let names: Vec<String> = self.collections.read().keys().cloned().collect();
                let collections = names.into_iter().map(|name| CollectionDescription { name }).collect();
                Ok(Response::new(ListCollectionsResponse { collections, time: 0.0 }))
            }

            async fn create(
                &self,
                request: Request<CreateCollection>,
            ) -> Result<Response<CollectionOperationResponse>, Status> {
                let result = self.create_collection(&request.into_inner())?;
                Ok(Response::new(CollectionOperationResponse { result, time: 0.0 }))
            }

            async fn delete(
                &self,
                request: Request<DeleteCollection>,
            ) -> Result<Response<CollectionOperationResponse>, Status> {
                // Qdrant answers so, too, if there is none.
                let result = self.collections.write().remove(&request.into_inner().collection_name).is_some();
                Ok(Response::new(CollectionOperationResponse { result, time: 0.0 }))
            }

            $(async fn $name(&self, _: Request<$request>) -> Result<Response<$reply>, Status> {
                Err(Status::unimplemented(stringify!($name)))
            })*
        }
    };
}

collections_service! {
    update(UpdateCollection) -> CollectionOperationResponse;
    update_aliases(ChangeAliases) -> CollectionOperationResponse;
    list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
    list_aliases(ListAliasesRequest) -> ListAliasesResponse;
    collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
    collection_exists(CollectionExistsRequest) -> CollectionExistsResponse;
    update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
    create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
    delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
    list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
}
