//! Counts and sums.
//!
//! Qdrant counts the objects with each value of a field, but adds nothing up. So an integer is kept in digits, too: the
//! sum is made of how often each digit has each value. While documents are written, the digits may be of different
//! moments, and a sum too large or too small; the next one is right.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use qdrant_client::qdrant::{CountPoints, CountPointsBuilder, FacetCounts, FacetCountsBuilder, facet_value::Variant};

use super::conditions::filter;
use super::payload::{DIGIT_VALUES, digit_fields};
use super::{Client, Operation, send};
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::document;
use crate::object::{Order, Search, Sums};
use crate::predicate::Predicate;
use crate::property::Property;

/// So many objects are read and added up here, with one request for all groups.
const MOST_ADDED_UP: usize = 10_000;

/// Groups whose sums are asked for at the same time.
const GROUPS_AT_ONCE: usize = 4;

impl Client {
    /// Counts the objects that a condition holds for, and adds up their integers.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn sums(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
        properties: &[Property],
    ) -> Result<Sums, VectorDatabaseError> {
        if *predicate == Predicate::Nothing {
            return Ok(Sums::nothing(properties));
        }
        let count = self.count(collection, predicate).await?;
        Ok(Sums { count, sums: self.sums_alone(collection, predicate, properties).await? })
    }

    async fn sums_alone(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
        properties: &[Property],
    ) -> Result<Vec<u64>, VectorDatabaseError> {
        try_join_all(properties.iter().map(|property| self.sum(collection, predicate, *property))).await
    }

    /// The sums of the objects with each value of a text, for at most `most` values.
    ///
    /// # Errors
    ///
    /// If Qdrant fails.
    pub async fn sums_by(
        &self,
        collection: &CollectionName,
        text: Property,
        most: usize,
        properties: &[Property],
    ) -> Result<Vec<(String, Sums)>, VectorDatabaseError> {
        let counts = self.counts(collection, &Predicate::Everything, text.name(), most as u64).await?;
        let counts = counts.into_iter().filter_map(|(value, count)| match value {
            Variant::StringValue(value) => Some((value, count)),
            Variant::IntegerValue(_) | Variant::BoolValue(_) => None,
        });
        let counts: Vec<(String, u64)> = counts.collect();
        if counts.iter().map(|(_, count)| count).sum::<u64>() <= MOST_ADDED_UP as u64 {
            let values = counts.into_iter().map(|(value, _)| value).collect();
            return self.added_up(collection, text, values, properties).await;
        }
        let of_value = |(value, count): (String, u64)| async move {
            let predicate = Predicate::is(text, value.as_str());
            let sums = self.sums_alone(collection, &predicate, properties).await?;
            Ok((value, Sums { count, sums }))
        };
        stream::iter(counts).map(of_value).buffered(GROUPS_AT_ONCE).try_collect().await
    }

    /// The sums of the objects with each of these values, of which there are few: they are read, and added up here.
    async fn added_up(
        &self,
        collection: &CollectionName,
        text: Property,
        values: Vec<String>,
        properties: &[Property],
    ) -> Result<Vec<(String, Sums)>, VectorDatabaseError> {
        let search = Search {
            collection,
            predicate: &Predicate::is_in(text, values),
            order: Order::Any,
            limit: MOST_ADDED_UP,
            properties: &[&[text], properties].concat(),
            has_vectors: false,
        };
        let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
        for found in self.search(&search).await? {
            let Some(value) = document::optional_text(&found.properties, text) else { continue };
            let of_value = sums.entry(value.to_owned()).or_insert_with(|| Sums::nothing(properties));
            of_value.count += 1;
            for (sum, property) in of_value.sums.iter_mut().zip(properties) {
                *sum += document::optional_number(&found.properties, *property).unwrap_or_default();
            }
        }
        Ok(sums.into_iter().collect())
    }

    pub(super) async fn count(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
    ) -> Result<u64, VectorDatabaseError> {
        let mut request = CountPointsBuilder::new(collection.as_str()).exact(true).timeout(self.timeout_seconds());
        if let Some(filter) = filter(predicate) {
            request = request.filter(filter);
        }
        let reply = send!(self, Operation::Query, points.count(CountPoints::from(request))).await?;
        Ok(reply.result.map_or(0, |result| result.count))
    }

    async fn sum(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
        property: Property,
    ) -> Result<u64, VectorDatabaseError> {
        let of_digit = |(field, worth): (String, u64)| async move {
            let counts = self.counts(collection, predicate, &field, DIGIT_VALUES).await?;
            let value_of = |(value, count): (Variant, u64)| match value {
                Variant::IntegerValue(digit) => u64::try_from(digit).unwrap_or_default() * count * worth,
                Variant::StringValue(_) | Variant::BoolValue(_) => 0,
            };
            Ok(counts.into_iter().map(value_of).sum::<u64>())
        };
        Ok(try_join_all(digit_fields(property).map(of_digit)).await?.into_iter().sum())
    }

    /// The number of objects with each value of a field.
    async fn counts(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
        field: &str,
        most: u64,
    ) -> Result<Vec<(Variant, u64)>, VectorDatabaseError> {
        let mut request =
            FacetCountsBuilder::new(collection.as_str(), field).limit(most).exact(true).timeout(self.timeout_seconds());
        if let Some(filter) = filter(predicate) {
            request = request.filter(filter);
        }
        let reply = send!(self, Operation::Query, points.facet(FacetCounts::from(request))).await?;
        Ok(reply.hits.into_iter().filter_map(|hit| Some((hit.value?.variant?, hit.count))).collect())
    }
}
