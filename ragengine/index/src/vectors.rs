//! The vectors of an index in memory, in immutable segments.
//!
//! FAISS numbers the vectors of a segment by position, and the index by row. Rows only increase, so a segment's rows
//! are sorted and a row's position is found by bisection. A deleted row stays in its segment as a dead position until a
//! rebuild drops it.
//!
//! New vectors become a small segment, or extend a copy of the last small one, before any lock is taken. So a search
//! uses the segments that existed when it started; it never waits for a writer, and no writer waits for it.

mod kind;
mod segment;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

pub use kind::{is_built, kind_for};
use ragengine_faiss::{Error, Kind, PositionSet, SearchOptions};
use ragengine_settings::VectorIndexKind;
use segment::Part;
pub use segment::Segment;

/// The most rows of a segment that is copied to extend it, which takes 0.1 ms. Beyond that a new segment is started.
const OPEN_ROWS: usize = 1024;

/// The most segments that are searched one after the other before merging them is worthwhile.
const MAX_PARTS: usize = 32;

/// The most rows outside the graph. With more, comparing with each of them takes as long as searching the graph.
const MAX_LOOSE_ROWS: usize = 20_000;

/// A row, and its squared L2 distance from the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The row.
    pub row: u64,
    /// The distance, 0 to 4; lower is nearer.
    pub distance: f32,
}

/// The rows that a search may return: their positions in each part of a snapshot.
#[derive(Debug, Default)]
pub struct AllowedRows(Vec<PositionSet>);

/// The vectors at one moment. Rows that are added or removed later do not affect it.
#[derive(Clone)]
pub struct VectorSnapshot {
    parts: Vec<Part>,
}

impl VectorSnapshot {
    /// Whether distances are exact. Otherwise they must be recomputed from the stored vectors.
    pub fn has_exact_distances(&self) -> bool {
        self.parts.iter().all(|part| part.kind().stores_exact_vectors())
    }

    /// The rows in these sorted ranges, for a search in this snapshot.
    pub fn allowed(&self, rows: &[Range<u64>]) -> AllowedRows {
        AllowedRows(self.parts.iter().map(|part| part.allowed_positions(rows)).collect())
    }

    /// Whether these rows, which are of this snapshot, contain a row.
    pub fn contains(&self, allowed: &AllowedRows, row: u64) -> bool {
        self.parts
            .iter()
            .zip(&allowed.0)
            .any(|(part, allowed)| part.position(row).is_some_and(|at| allowed.contains(at)))
    }

    /// Returns the `k` nearest rows, nearest first. `allowed` is of this snapshot; None allows every row.
    pub fn search(
        &self,
        query: &[f32],
        k: usize,
        allowed: Option<&AllowedRows>,
        options: SearchOptions,
    ) -> Result<Vec<Hit>, Error> {
        let mut hits = Vec::new();
        for (place, part) in self.parts.iter().enumerate().filter(|(_, part)| part.alive() > 0) {
            let allowed = allowed.map(|allowed| &allowed.0[place]);
            hits.extend(part.search(query, k, allowed, options)?);
        }
        nearest_first(&mut hits);
        hits.truncate(k);
        Ok(hits)
    }

    /// The rows that are alive, in order.
    pub fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        self.parts.iter().flat_map(Part::rows)
    }

    /// The segment that a rebuild can extend instead of starting empty: of the right kind, with few dead rows, and
    /// before all others. A trained segment cannot be extended, because its training reflects old rows.
    pub fn base(&self, kind: Kind) -> Option<Arc<Segment>> {
        let base = self.parts.first()?;
        let is_good = base.kind() == kind && kind != Kind::Flat && !kind.needs_training();
        let is_dense = base.dead * 10 <= base.segment.rows().len();
        let first_other = self.parts[1..].iter().flat_map(Part::rows).next();
        let is_before = first_other.is_none_or(|row| base.segment.rows().last() < Some(&row));
        (is_good && is_dense && is_before).then(|| Arc::clone(&base.segment))
    }
}

/// Rows that are ready to be added.
pub struct Addition {
    /// The segment that this one replaces. It starts with the same rows.
    grows: Option<Arc<Segment>>,
    segment: Arc<Segment>,
}

/// A rebuilt segment that is ready to replace others.
pub struct Replacement {
    part: Part,
    replaces: VectorSnapshot,
}

impl Replacement {
    /// A replacement in which exactly the alive rows of `replaces` are alive.
    pub fn new(segment: Segment, replaces: VectorSnapshot) -> Self {
        Self { part: Part::with_alive(Arc::new(segment), replaces.rows()), replaces }
    }
}

/// All vectors of an index.
#[derive(Clone)]
pub struct VectorSet {
    kind: VectorIndexKind,
    dimensions: usize,
    /// The segments. Rows increase from one to the next.
    parts: Vec<Part>,
    /// How many segments, from the first on, are closed for additions because of a rebuild.
    closed: usize,
}

impl VectorSet {
    /// An empty set.
    pub fn new(kind: VectorIndexKind, dimensions: usize) -> Self {
        Self { kind, dimensions, parts: Vec::new(), closed: 0 }
    }

    /// Appends a segment, of which the given rows are alive.
    pub fn take(&mut self, segment: Segment, alive: impl IntoIterator<Item = u64>) {
        self.parts.push(Part::with_alive(Arc::new(segment), alive));
        self.closed = self.parts.len();
    }

    /// Prepares rows, which must be greater than all before. Only one addition may be prepared at a time.
    pub fn prepare(&self, rows: &[u64], vectors: &[f32]) -> Result<Addition, Error> {
        #[cfg(test)]
        tests::refuse_if_set()?;
        let grows = self.open().filter(|segment| segment.rows().len() + rows.len() <= OPEN_ROWS);
        let mut segment = match grows {
            Some(open) => open.copy()?,
            None => Segment::new(Kind::Flat, self.dimensions)?,
        };
        segment.add(rows, vectors)?;
        Ok(Addition { grows: grows.cloned(), segment: Arc::new(segment) })
    }

    /// Adds a prepared addition.
    pub fn add(&mut self, addition: Addition) {
        let Addition { grows, segment } = addition;
        let is_open = |open: &Arc<Segment>| self.open().is_some_and(|last| Arc::ptr_eq(last, open));
        match (grows.as_ref().is_some_and(is_open), self.parts.last_mut()) {
            (true, Some(last)) => last.grow(segment),
            // A rebuild closed the segment in the meantime. It keeps its rows, so they are dead in the new one.
            _ => self.parts.push(Part::new(segment, grows.map_or(0, |closed| closed.rows().len()))),
        }
    }

    /// Removes a range of rows.
    pub fn remove(&mut self, rows: &Range<u64>) {
        self.parts.iter_mut().for_each(|part| part.remove(rows));
    }

    /// The number of rows that are alive.
    pub fn alive(&self) -> usize {
        self.parts.iter().map(Part::alive).sum()
    }

    /// The number of rows in segments of the requested kind. Other rows are searched one by one.
    pub fn built(&self) -> usize {
        self.parts.iter().filter(|part| is_built(self.kind, part.kind())).map(Part::alive).sum()
    }

    /// The kind of the segment with the most rows.
    pub fn largest_kind(&self) -> Kind {
        self.parts.iter().max_by_key(|part| part.alive()).map_or(Kind::Flat, Part::kind)
    }

    /// The segment that takes long to build, if there is one.
    pub fn built_segment(&self) -> Option<&Arc<Segment>> {
        self.parts.iter().map(|part| &part.segment).find(|segment| segment.kind() != Kind::Flat)
    }

    /// The current vectors. Searching them holds no lock.
    pub fn snapshot(&self) -> VectorSnapshot {
        VectorSnapshot { parts: self.parts.clone() }
    }

    /// Whether a rebuild into one segment of the requested kind is worthwhile.
    ///
    /// Below `exact_below_rows`, or with too few rows to train the kind, everything stays flat. Above, a rebuild is due
    /// when the rows outside a graph are a quarter of all, or when they are many and can be added to the graph. At any
    /// size, a rebuild is due when more than a quarter of the positions are dead, or when there are many segments and
    /// those beside the largest hold a quarter of all rows.
    pub fn is_rebuild_due(&self, exact_below_rows: usize) -> bool {
        let alive = self.alive();
        let dead: usize = self.parts.iter().map(|part| part.dead).sum();
        let loose = alive - self.built();
        let kind = self.rebuilt_kind(exact_below_rows);
        let is_many = loose * 4 > alive || (loose > MAX_LOOSE_ROWS && !kind.needs_training());
        let has_outgrown = kind != Kind::Flat && is_many;
        let is_wasteful = dead > 1000 && dead * 4 > alive + dead;
        let scattered = alive - self.parts.iter().map(Part::alive).max().unwrap_or(0);
        let is_scattered = self.parts.len() > MAX_PARTS && scattered * 4 > alive;
        has_outgrown || is_wasteful || is_scattered
    }

    /// The kind that a rebuild would make now.
    pub fn rebuilt_kind(&self, exact_below_rows: usize) -> Kind {
        kind_for(self.kind, self.alive(), exact_below_rows)
    }

    /// Closes all segments for a rebuild, and returns them.
    pub fn close(&mut self) -> VectorSnapshot {
        self.closed = self.parts.len();
        self.snapshot()
    }

    /// Replaces segments by the one rebuilt from them. Rows that were removed during the rebuild are dead in it.
    /// Returns the replaced segments, because freeing their memory takes a while.
    pub fn replace(&mut self, replacement: Replacement) -> VectorSnapshot {
        let Replacement { mut part, replaces } = replacement;
        let count = replaces.parts.len();
        let pairs = self.parts.iter().zip(&replaces.parts);
        pairs.flat_map(|(now, then)| now.rows_gone_since(then)).for_each(|row| part.remove(&(row..row + 1)));
        let replaced = self.parts.splice(..count, [part]).collect();
        self.closed = 1;
        VectorSnapshot { parts: replaced }
    }

    /// The segment to which rows are added.
    fn open(&self) -> Option<&Arc<Segment>> {
        let last = self.parts.last().filter(|_| self.parts.len() > self.closed)?;
        (last.kind() == Kind::Flat).then_some(&last.segment)
    }
}

/// Merges the results of several searches: the `k` nearest rows, nearest first, each with its least distance. If each
/// search returned its `k` nearest rows, the result is exact: a row that a search left out has `k` others that are at
/// least as near.
pub fn least_distances(hits: impl IntoIterator<Item = Hit>, k: usize) -> Vec<Hit> {
    let mut least: HashMap<u64, f32> = HashMap::new();
    for Hit { row, distance } in hits {
        least.entry(row).and_modify(|known| *known = known.min(distance)).or_insert(distance);
    }
    let mut hits: Vec<Hit> = least.into_iter().map(|(row, distance)| Hit { row, distance }).collect();
    nearest_first(&mut hits);
    hits.truncate(k);
    hits
}

/// Sorts hits by distance, and equal distances by row.
pub fn nearest_first(hits: &mut [Hit]) {
    hits.sort_by(|left, right| left.distance.total_cmp(&right.distance).then(left.row.cmp(&right.row)));
}

#[cfg(test)]
pub(crate) mod tests;
