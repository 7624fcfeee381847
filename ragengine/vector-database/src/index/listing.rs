//! Lists of documents, by page, and sizes.
//!
//! The order is that of the first writes. A page begins after the place of the page before, not at a number of
//! documents, so that documents that come or go meanwhile neither hide nor repeat others.

use std::collections::BTreeMap;

use ragengine_pipeline::filter::Filter;

use super::Index;
use crate::VectorDatabaseError;
use crate::document::{self, DocumentRecord, RECORD_PROPERTIES};
use crate::filter::{self, Comparisons};
use crate::object::{Found, Order, Search, Sums};
use crate::predicate::Predicate;
use crate::property::Property;

/// Weaviate's limit on the results of a search (`QUERY_MAXIMUM_RESULTS`).
const MAX_RESULTS: usize = 10_000;

/// Some documents of an index.
#[derive(Debug, Clone, Copy)]
pub enum Selection<'a> {
    /// Those that match a filter.
    Filter(&'a Filter),
    /// Those of a source.
    Source(&'a str),
}

impl Selection<'_> {
    fn predicate(self, comparisons: Comparisons) -> Result<Predicate, VectorDatabaseError> {
        match self {
            Self::Filter(wanted) => filter::predicate(wanted, comparisons),
            Self::Source(source) => Ok(Predicate::is(Property::TOKENS, filter::of_source(source))),
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The documents.
    pub documents: Vec<DocumentRecord>,
    /// Where the next page begins. None: this is the last one.
    pub next: Option<u64>,
}

/// A page of objects of documents with their places.
struct Placed {
    found: Vec<(u64, Found)>,
    /// Where the next page begins.
    next: Option<u64>,
}

fn with_place(found: Found) -> Result<(u64, Found), VectorDatabaseError> {
    Ok((document::number(&found.properties, Property::PLACE)?, found))
}

/// How large an index or a part of it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// The number of documents.
    pub documents: u64,
    /// The number of chunks.
    pub chunks: u64,
    /// The size of the texts, in bytes.
    pub text_bytes: u64,
}

/// The properties whose sums are a size.
const SIZES: [Property; 2] = [Property::CHUNK_COUNT, Property::TEXT_BYTES];

impl IndexSize {
    fn of(sums: &Sums) -> Self {
        let sum = |position: usize| sums.sums.get(position).copied().unwrap_or_default();
        Self { documents: sums.count, chunks: sum(0), text_bytes: sum(1) }
    }
}

impl Index {
    /// A page of documents after a place, with about `limit` documents at most: documents of one place stay together.
    ///
    /// # Errors
    ///
    /// If the filter cannot be evaluated, or the vector database fails.
    pub async fn list(
        &self,
        selection: Selection<'_>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Page, VectorDatabaseError> {
        let placed = self.placed(selection, after, limit, RECORD_PROPERTIES).await?;
        let read = |(_, found): (u64, Found)| DocumentRecord::read(found.id, &found.properties);
        Ok(Page { documents: placed.found.into_iter().map(read).collect::<Result<_, _>>()?, next: placed.next })
    }

    /// How many documents a page has, and where the next one begins. Nothing else is read of them.
    ///
    /// # Errors
    ///
    /// As [`Self::list`].
    pub async fn pass_over(
        &self,
        selection: Selection<'_>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<(usize, Option<u64>), VectorDatabaseError> {
        let placed = self.placed(selection, after, limit, &[Property::PLACE]).await?;
        Ok((placed.found.len(), placed.next))
    }

    /// The documents of a page with their places, in order.
    async fn placed(
        &self,
        selection: Selection<'_>,
        after: Option<u64>,
        limit: usize,
        properties: &[Property],
    ) -> Result<Placed, VectorDatabaseError> {
        #[expect(clippy::cast_precision_loss, reason = "microseconds since 1970 are less than 2^53 until 2255")]
        let behind = after.map_or(Predicate::Everything, |place| Predicate::Above(Property::PLACE, place as f64));
        let predicate = Predicate::all([selection.predicate(self.database.comparisons())?, behind]);
        let mut limit = limit.clamp(1, MAX_RESULTS - 1);
        loop {
            let search = Search {
                collection: &self.collections.documents,
                predicate: &predicate,
                order: Order::Least(Property::PLACE),
                // One more than the page shows whether there is another.
                limit: limit + 1,
                properties,
                has_vectors: false,
            };
            let found = self.database.search(&search).await?;
            let is_last = found.len() <= limit;
            let end = found.iter().rev().find_map(|each| document::optional_number(&each.properties, Property::PLACE));
            let found = self.with_properties(&search, found).await?;
            let mut found = found.into_iter().map(with_place).collect::<Result<Vec<_>, _>>()?;
            // Those without properties may have been found at another place.
            found.retain(|(place, _)| after.is_none_or(|after| *place > after));
            found.sort_by_key(|(place, _)| *place);
            if is_last {
                return Ok(Placed { found, next: None });
            }
            let end = end.or_else(|| found.last().map(|(place, _)| *place));
            found.retain(|(place, _)| end.is_none_or(|end| *place < end));
            if found.is_empty() && limit < MAX_RESULTS - 1 {
                limit = (limit * 2).min(MAX_RESULTS - 1);
                continue;
            }
            let next = found.last().map(|(place, _)| *place);
            return Ok(Placed { found, next });
        }
    }

    /// The size of a selection.
    ///
    /// # Errors
    ///
    /// If the filter cannot be evaluated, or the vector database fails.
    pub async fn size(&self, selection: Selection<'_>) -> Result<IndexSize, VectorDatabaseError> {
        let sums = self
            .database
            .sums(&self.collections.documents, &selection.predicate(self.database.comparisons())?, &SIZES)
            .await?;
        Ok(IndexSize::of(&sums))
    }

    /// The sources with documents, with their sizes, by name. At most 10,000.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn sources(&self) -> Result<BTreeMap<String, IndexSize>, VectorDatabaseError> {
        let sums = self.database.sums_by(&self.collections.documents, Property::SOURCE, MAX_RESULTS, &SIZES).await?;
        Ok(sums.into_iter().map(|(source, sums)| (source, IndexSize::of(&sums))).collect())
    }
}

#[cfg(test)]
mod tests;
