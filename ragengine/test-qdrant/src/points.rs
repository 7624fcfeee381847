//! Points.

use qdrant_client::qdrant::facet_value::Variant;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::points_server::Points;
use qdrant_client::qdrant::query::Variant as QueryVariant;
use qdrant_client::qdrant::vector_input::Variant as Input;
use qdrant_client::qdrant::{
    ClearPayloadPoints, CountPoints, CountResponse, CountResult, CreateFieldIndexCollection, CreateVectorNameRequest,
    DeleteFieldIndexCollection, DeletePayloadPoints, DeletePointVectors, DeletePoints, DeleteVectorNameRequest,
    DiscoverBatchPoints, DiscoverBatchResponse, DiscoverPoints, DiscoverResponse, FacetCounts, FacetHit, FacetResponse,
    FacetValue, FieldType, GetPoints, GetResponse, PointsOperationResponse, PointsSelector, Query, QueryBatchPoints,
    QueryBatchResponse, QueryGroupsResponse, QueryPointGroups, QueryPoints, QueryResponse, RecommendBatchPoints,
    RecommendBatchResponse, RecommendGroupsResponse, RecommendPointGroups, RecommendPoints, RecommendResponse,
    RetrievedPoint, ScoredPoint, ScrollPoints, ScrollResponse, SearchBatchPoints, SearchBatchResponse,
    SearchGroupsResponse, SearchMatrixOffsetsResponse, SearchMatrixPairsResponse, SearchMatrixPoints,
    SearchPointGroups, SearchPoints, SearchResponse, SetPayloadPoints, UpdateBatchPoints, UpdateBatchResponse,
    UpdatePointVectors, UpdateResult, UpdateStatus, UpsertPoints,
};
use qdrant_edge::{
    CountRequest, CreateIndex, FacetRequest, FacetValue as EdgeFacet, FieldIndexOperations, NamedQuery, PayloadOps,
    PointInsertOperations, PointOperations, QueryEnum, QueryRequest, Record, ScoringQuery, ScrollRequest, SetPayloadOp,
    SparseVector, UpdateOperation, VectorInternal,
};
use serde_json::json;
use tonic::{Request, Response, Status};

use crate::Service;
use crate::convert::{
    failure, fields, filter, id, id_of, of_json, payload, point, vectors_of, with_payload, with_vectors,
};

impl Service {
    fn upsert_points(&self, request: UpsertPoints) -> Result<(), Status> {
        let points = request.points.into_iter().map(point).collect::<Result<Vec<_>, _>>()?;
        let points = PointOperations::UpsertPoints(PointInsertOperations::PointsList(points));
        self.update(&request.collection_name, UpdateOperation::PointOperation(points))
    }

    fn delete_points(&self, request: DeletePoints) -> Result<(), Status> {
        let deletion = match request.points.and_then(|points| points.points_selector_one_of) {
            Some(PointsSelectorOneOf::Points(list)) => {
                let ids = list.ids.into_iter().map(|each| id(Some(each))).collect::<Result<_, _>>()?;
                PointOperations::DeletePoints { ids }
            }
            Some(PointsSelectorOneOf::Filter(chosen)) => {
                PointOperations::DeletePointsByFilter(filter(Some(chosen))?.unwrap_or_default())
            }
            None => return Err(Status::invalid_argument("no points are chosen")),
        };
        self.update(&request.collection_name, UpdateOperation::PointOperation(deletion))
    }

    fn set_fields(&self, request: SetPayloadPoints) -> Result<(), Status> {
        let Some(PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Points(list)) }) =
            request.points_selector
        else {
            return Err(Status::unimplemented("to set fields of points that are not chosen by their ids"));
        };
        let points = list.ids.into_iter().map(|each| id(Some(each))).collect::<Result<_, _>>()?;
        let payload = payload(request.payload)?;
        let set = SetPayloadOp { payload, points: Some(points), filter: None, key: None };
        self.update(&request.collection_name, UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set)))
    }

    fn index_field(&self, request: &CreateFieldIndexCollection) -> Result<(), Status> {
        let schema = match request.field_type() {
            FieldType::Keyword => "keyword",
            FieldType::Integer => "integer",
            FieldType::Uuid => "uuid",
            other => return Err(Status::unimplemented(format!("an index of {other:?}"))),
        };
        let index = CreateIndex {
            field_name: of_json(json!(request.field_name))?,
            field_schema: Some(of_json(json!(schema))?),
        };
        let index = UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(index));
        self.update(&request.collection_name, index)
    }

    fn update(&self, collection: &str, operation: UpdateOperation) -> Result<(), Status> {
        self.of_name(collection)?.shard.update(operation).map_err(failure)
    }

    fn get_points(&self, request: GetPoints) -> Result<Vec<RetrievedPoint>, Status> {
        has_no_consistency(request.read_consistency.is_some())?;
        let ids = request.ids.into_iter().map(|each| id(Some(each))).collect::<Result<Vec<_>, _>>()?;
        let (payload, vectors) = (with_payload(request.with_payload)?, with_vectors(request.with_vectors)?);
        let collection = self.of_name(&request.collection_name)?;
        let records = collection.shard.retrieve(&ids, Some(payload), Some(vectors)).map_err(failure)?;
        records.into_iter().map(retrieved).collect()
    }

    fn scroll_points(&self, request: ScrollPoints) -> Result<Vec<RetrievedPoint>, Status> {
        has_no_consistency(request.read_consistency.is_some())?;
        let order_by = request.order_by.map(|order| of_json(json!({"key": order.key, "direction": "asc"})));
        let scroll = ScrollRequest {
            offset: request.offset.map(|offset| id(Some(offset))).transpose()?,
            limit: request.limit.map(|limit| limit as usize),
            filter: filter(request.filter)?,
            with_payload: Some(with_payload(request.with_payload)?),
            with_vector: with_vectors(request.with_vectors)?,
            order_by: order_by.transpose()?,
        };
        let (records, _) = self.of_name(&request.collection_name)?.shard.scroll(scroll).map_err(failure)?;
        records.into_iter().map(retrieved).collect()
    }

    fn query_points(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, Status> {
        has_no_consistency(request.read_consistency.is_some())?;
        let query = NamedQuery { query: nearest(request.query)?, using: request.using };
        let query = QueryRequest {
            prefetches: Vec::new(),
            query: Some(ScoringQuery::Vector(QueryEnum::Nearest(query))),
            filter: filter(request.filter)?,
            score_threshold: None,
            limit: usize::try_from(request.limit.unwrap_or(10)).unwrap_or(usize::MAX),
            offset: 0,
            params: request.params.map(|params| of_json(json!({"hnsw_ef": params.hnsw_ef}))).transpose()?,
            with_vector: with_vectors(request.with_vectors)?,
            with_payload: with_payload(request.with_payload)?,
        };
        let points = self.of_name(&request.collection_name)?.shard.query(query).map_err(failure)?;
        let scored = |point: qdrant_edge::ScoredPoint| {
            Ok(ScoredPoint {
                id: Some(id_of(&point.id)),
                payload: fields(point.payload)?,
                score: point.score,
                version: point.version,
                vectors: vectors_of(point.vector)?,
                ..ScoredPoint::default()
            })
        };
        points.into_iter().map(scored).collect()
    }

    fn count_points(&self, request: CountPoints) -> Result<u64, Status> {
        let count = CountRequest { filter: filter(request.filter)?, exact: request.exact.unwrap_or(true) };
        Ok(self.of_name(&request.collection_name)?.shard.count(count).map_err(failure)? as u64)
    }

    fn facet_counts(&self, request: FacetCounts) -> Result<Vec<FacetHit>, Status> {
        let facet = FacetRequest {
            key: of_json(json!(request.key))?,
            limit: usize::try_from(request.limit.unwrap_or(10)).unwrap_or(usize::MAX),
            filter: filter(request.filter)?,
            exact: request.exact.unwrap_or(false),
        };
        let counts = self.of_name(&request.collection_name)?.shard.facet(facet).map_err(failure)?;
        let hit = |hit: qdrant_edge::FacetValueHit| {
            let variant = match hit.value {
                EdgeFacet::Keyword(text) => Variant::StringValue(text),
                EdgeFacet::Int(number) => Variant::IntegerValue(number),
                EdgeFacet::Bool(value) => Variant::BoolValue(value),
                EdgeFacet::Uuid(_) => return Err(Status::unimplemented("to count UUIDs")),
            };
            Ok(FacetHit { value: Some(FacetValue { variant: Some(variant) }), count: hit.count as u64 })
        };
        counts.hits.into_iter().map(hit).collect()
    }
}

/// With a consistency, a real server compares the answers of replicas, and leaves out what differs for a moment.
fn has_no_consistency(has_consistency: bool) -> Result<(), Status> {
    if has_consistency { Err(Status::unimplemented("answers that replicas agree on")) } else { Ok(()) }
}

/// The vector of a query.
fn nearest(query: Option<Query>) -> Result<VectorInternal, Status> {
    let Some(QueryVariant::Nearest(input)) = query.and_then(|query| query.variant) else {
        return Err(Status::unimplemented("this query"));
    };
    match input.variant {
        Some(Input::Dense(dense)) => Ok(VectorInternal::Dense(dense.data)),
        Some(Input::Sparse(sparse)) => {
            let vector = SparseVector::new(sparse.indices, sparse.values);
            vector.map(VectorInternal::Sparse).map_err(|error| Status::invalid_argument(error.to_string()))
        }
        _ => Err(Status::unimplemented("this vector of a query")),
    }
}

fn retrieved(record: Record) -> Result<RetrievedPoint, Status> {
    Ok(RetrievedPoint {
        id: Some(id_of(&record.id)),
        payload: fields(record.payload)?,
        vectors: vectors_of(record.vector)?,
        ..RetrievedPoint::default()
    })
}

/// Implements the requests that the vector database crate sends, and refuses the others.
macro_rules! points_service {
    (
        $($write:ident($write_request:ty) => |$service:ident, $given:ident| $done:expr;)*
        ---
        $($name:ident($request:ty) -> $reply:ty;)*
    ) => {
        #[tonic::async_trait]
        impl Points for Service {
            $(async fn $write(
                &self,
                request: Request<$write_request>,
            ) -> Result<Response<PointsOperationResponse>, Status> {
                let ($service, $given) = (self, request.into_inner());
                // Otherwise a real server would answer before it has written.
                if $given.wait != Some(true) {
                    return Err(Status::unimplemented("a write that nobody waits for"));
                }
                $done?;
                let result = UpdateResult { operation_id: None, status: UpdateStatus::Completed.into() };
                Ok(Response::new(PointsOperationResponse { result: Some(result), ..Default::default() }))
            })*

            async fn get(&self, request: Request<GetPoints>) -> Result<Response<GetResponse>, Status> {
                let result = self.get_points(request.into_inner())?;
                Ok(Response::new(GetResponse { result, ..GetResponse::default() }))
            }

            async fn scroll(&self, request: Request<ScrollPoints>) -> Result<Response<ScrollResponse>, Status> {
                let result = self.scroll_points(request.into_inner())?;
                Ok(Response::new(ScrollResponse { result, ..ScrollResponse::default() }))
            }

            async fn query(&self, request: Request<QueryPoints>) -> Result<Response<QueryResponse>, Status> {
                let result = self.query_points(request.into_inner())?;
                Ok(Response::new(QueryResponse { result, ..QueryResponse::default() }))
            }

            async fn count(&self, request: Request<CountPoints>) -> Result<Response<CountResponse>, Status> {
                let result = Some(CountResult { count: self.count_points(request.into_inner())? });
                Ok(Response::new(CountResponse { result, ..CountResponse::default() }))
            }

            async fn facet(&self, request: Request<FacetCounts>) -> Result<Response<FacetResponse>, Status> {
                let hits = self.facet_counts(request.into_inner())?;
                Ok(Response::new(FacetResponse { hits, ..FacetResponse::default() }))
            }

            $(async fn $name(&self, _: Request<$request>) -> Result<Response<$reply>, Status> {
                Err(Status::unimplemented(stringify!($name)))
            })*
        }
    };
}

points_service! {
    upsert(UpsertPoints) => |service, request| service.upsert_points(request);
    delete(DeletePoints) => |service, request| service.delete_points(request);
    set_payload(SetPayloadPoints) => |service, request| service.set_fields(request);
    create_field_index(CreateFieldIndexCollection) => |service, request| service.index_field(&request);
    ---
    update_vectors(UpdatePointVectors) -> PointsOperationResponse;
    delete_vectors(DeletePointVectors) -> PointsOperationResponse;
    overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
    delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
    clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
    delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
    create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
    delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
    search(SearchPoints) -> SearchResponse;
    search_batch(SearchBatchPoints) -> SearchBatchResponse;
    search_groups(SearchPointGroups) -> SearchGroupsResponse;
    recommend(RecommendPoints) -> RecommendResponse;
    recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
    recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
    discover(DiscoverPoints) -> DiscoverResponse;
    discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
    update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
    query_batch(QueryBatchPoints) -> QueryBatchResponse;
    query_groups(QueryPointGroups) -> QueryGroupsResponse;
    search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
    search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
}
