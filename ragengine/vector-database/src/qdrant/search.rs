//! Searches.

use qdrant_client::qdrant::{
    OrderByBuilder, PointId, Query, QueryPoints, QueryPointsBuilder, RetrievedPoint, ScoredPoint, ScrollPoints,
    ScrollPointsBuilder, SearchParamsBuilder, VectorInput,
};
use uuid::Uuid;

use super::conditions::{filter, point_id};
use super::payload::{embedding, properties, uuid};
use super::points::{embedding_only, fields};
use super::{Client, EMBEDDING, Operation, WORDS, send, words};
use crate::VectorDatabaseError;
use crate::object::{Found, Order, Search, check_vector};
use crate::predicate::Predicate;

impl Client {
    /// Searches.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Vector`], or if Qdrant fails.
    pub async fn search(&self, search: &Search<'_>) -> Result<Vec<Found>, VectorDatabaseError> {
        if search.limit == 0 || *search.predicate == Predicate::Nothing {
            return Ok(Vec::new());
        }
        match search.order {
            Order::Nearest(vector) => {
                check_vector(vector)?;
                let query = VectorInput::new_dense(vector.to_vec());
                // Qdrant has the distance, the index its square.
                self.best(search, EMBEDDING, query, |found, score| found.distance = Some(score * score)).await
            }
            Order::Words(_, text) => {
                let (indices, values) = words::of_query(text);
                if indices.is_empty() {
                    return Ok(Vec::new());
                }
                let query = VectorInput::new_sparse(indices, values);
                self.best(search, WORDS, query, |found, score| found.bm25 = Some(score)).await
            }
            Order::Least(property) => {
                self.first(search, |request| request.order_by(OrderByBuilder::new(property.name()))).await
            }
            Order::Id(Some(after)) => match following(after) {
                Some(first) => self.first(search, |request| request.offset(first)).await,
                None => Ok(Vec::new()),
            },
            Order::Any | Order::Id(None) => self.first(search, |request| request).await,
        }
    }

    /// The points with the best scores of a query.
    async fn best(
        &self,
        search: &Search<'_>,
        using: &str,
        query: VectorInput,
        with_score: impl Fn(&mut Found, f32),
    ) -> Result<Vec<Found>, VectorDatabaseError> {
        let mut request = QueryPointsBuilder::new(search.collection.as_str())
            .query(Query::new_nearest(query))
            .using(using)
            .limit(search.limit as u64)
            .with_payload(fields(search.properties))
            .timeout(self.timeout_seconds());
        if search.has_vectors {
            request = request.with_vectors(embedding_only());
        }
        if let Some(ef) = self.ef_search {
            request = request.params(SearchParamsBuilder::default().hnsw_ef(u64::from(ef)));
        }
        if let Some(filter) = filter(search.predicate) {
            request = request.filter(filter);
        }
        let reply = send!(self, Operation::Query, points.query(QueryPoints::from(request))).await?;
        let found = |point: ScoredPoint| {
            let mut found = Found {
                id: uuid(point.id)?,
                properties: properties(point.payload),
                distance: None,
                bm25: None,
                vector: embedding(point.vectors),
            };
            with_score(&mut found, point.score);
            Ok(found)
        };
        reply.result.into_iter().map(found).collect()
    }

    /// The first points in an order that no vector decides.
    async fn first(
        &self,
        search: &Search<'_>,
        in_order: impl FnOnce(ScrollPointsBuilder) -> ScrollPointsBuilder,
    ) -> Result<Vec<Found>, VectorDatabaseError> {
        let limit = u32::try_from(search.limit).unwrap_or(u32::MAX);
        let mut request = in_order(
            ScrollPointsBuilder::new(search.collection.as_str())
                .limit(limit)
                .with_payload(fields(search.properties))
                .timeout(self.timeout_seconds()),
        );
        if search.has_vectors {
            request = request.with_vectors(embedding_only());
        }
        if let Some(filter) = filter(search.predicate) {
            request = request.filter(filter);
        }
        let reply = send!(self, Operation::Query, points.scroll(ScrollPoints::from(request))).await?;
        let found = |point: RetrievedPoint| {
            let (id, properties, vector) = (uuid(point.id)?, properties(point.payload), embedding(point.vectors));
            Ok(Found { id, properties, distance: None, bm25: None, vector })
        };
        reply.result.into_iter().map(found).collect()
    }
}

/// The first id after this one. None if there is none.
fn following(id: Uuid) -> Option<PointId> {
    Some(point_id(Uuid::from_u128(id.as_u128().checked_add(1)?)))
}
