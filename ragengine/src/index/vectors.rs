//! The vectors of an index in memory: sealed segments that are never changed, and a tail that rows are added to.
//!
//! A segment of FAISS knows positions, the index knows rows. Rows only grow, so a segment's rows are in order and a row's
//! position is found by bisection. A deleted row stays in its segment as a dead position until a rebuild leaves it out.

mod kind;

use std::ops::Range;
use std::sync::Arc;

use kind::{is_built, kind_for};
use parking_lot::RwLock;
use ragengine_faiss::{Error, Kind, PositionSet, SearchOptions, VectorIndex};
use ragengine_settings::VectorIndexKind;

/// A row and its squared L2 distance from what was looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The row.
    pub row: u64,
    /// The distance, 0 to 4; lower is nearer.
    pub distance: f32,
}

/// Vectors and the rows that they belong to, position by position.
pub struct Segment {
    index: VectorIndex,
    rows: Vec<u64>,
}

impl Segment {
    /// A segment without rows.
    pub fn new(kind: Kind, dimensions: usize) -> Result<Self, Error> {
        Ok(Self { index: VectorIndex::new(kind, dimensions)?, rows: Vec::new() })
    }

    /// Trains it where its kind needs that.
    pub fn train(&mut self, vectors: &[f32]) -> Result<(), Error> {
        match self.index.kind().needs_training() {
            true => self.index.train(vectors),
            false => Ok(()),
        }
    }

    /// Adds rows, which must be greater than all before.
    pub fn add(&mut self, rows: &[u64], vectors: &[f32]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        debug_assert!(rows.is_sorted() && self.rows.last() < rows.first(), "rows only grow");
        debug_assert_eq!(vectors.len(), rows.len() * self.index.dimensions(), "one vector for each row");
        self.index.add(vectors)?;
        self.rows.extend_from_slice(rows);
        Ok(())
    }

    /// The positions of rows that follow each other: none when they are not here.
    pub fn positions(&self, rows: &Range<u64>) -> Range<usize> {
        let start = self.rows.partition_point(|row| *row < rows.start);
        let end = start + self.rows[start..].partition_point(|row| *row < rows.end);
        start..end
    }
}

/// A segment and which of its rows are still there. The set is copied when it changes under a reader.
///
/// Only the tail's segment is ever written; the lock of a sealed one is never waited for.
#[derive(Clone)]
struct Part {
    segment: Arc<RwLock<Segment>>,
    alive: Arc<PositionSet>,
    dead: usize,
}

impl Part {
    fn new(segment: Segment) -> Self {
        let alive = PositionSet::full(segment.rows.len());
        Self { segment: Arc::new(RwLock::new(segment)), alive: Arc::new(alive), dead: 0 }
    }

    fn add(&mut self, rows: &[u64], vectors: &[f32]) -> Result<(), Error> {
        let mut segment = self.segment.write();
        segment.add(rows, vectors)?;
        let alive = Arc::make_mut(&mut self.alive);
        let before = alive.len();
        alive.grow(segment.rows.len());
        (before..segment.rows.len()).for_each(|position| {
            alive.insert(position);
        });
        Ok(())
    }

    fn remove(&mut self, rows: &Range<u64>) {
        let positions = self.segment.read().positions(rows);
        if !positions.is_empty() {
            let alive = Arc::make_mut(&mut self.alive);
            self.dead += positions.filter(|&position| alive.remove(position)).count();
        }
    }

    fn search(
        &self,
        query: &[f32],
        k: usize,
        allowed: Option<&[Range<u64>]>,
        options: SearchOptions,
    ) -> Result<Vec<Hit>, Error> {
        let segment = self.segment.read();
        let allowed = allowed.map(|rows| allowed_positions(&segment, &self.alive, rows));
        // A tail may have grown since this part was copied: what is not in `alive` is not to be found.
        let is_all_alive = self.dead == 0 && self.alive.len() == segment.rows.len();
        let filter = allowed.as_ref().or((!is_all_alive).then_some(&*self.alive));
        let found = segment.index.search(query, k, filter, options)?;
        Ok(found.iter().map(|near| Hit { row: segment.rows[near.position], distance: near.distance }).collect())
    }

    /// Rows that are there, in order.
    fn rows(&self) -> Vec<u64> {
        let segment = self.segment.read();
        self.alive.iter().map(|position| segment.rows[position]).collect()
    }

    fn alive(&self) -> usize {
        self.alive.len() - self.dead
    }

    fn kind(&self) -> Kind {
        self.segment.read().index.kind()
    }
}

/// The vectors at one moment: what is added later is not found, what is removed later still is.
pub struct VectorSnapshot {
    parts: Vec<Part>,
}

impl VectorSnapshot {
    /// Whether distances are those of the stored vectors; where they are not, they must be computed again.
    pub fn has_exact_distances(&self) -> bool {
        self.parts.iter().all(|part| part.kind().stores_exact_vectors())
    }

    /// The `k` nearest rows, nearest first; `allowed` are ranges of rows in order, None lets every row through.
    pub fn search(
        &self,
        query: &[f32],
        k: usize,
        allowed: Option<&[Range<u64>]>,
        options: SearchOptions,
    ) -> Result<Vec<Hit>, Error> {
        let mut hits = Vec::new();
        for part in self.parts.iter().filter(|part| part.alive() > 0) {
            hits.extend(part.search(query, k, allowed, options)?);
        }
        nearest_first(&mut hits);
        hits.truncate(k);
        Ok(hits)
    }

    /// Rows that are there, in order.
    pub fn rows(&self) -> Vec<u64> {
        self.parts.iter().flat_map(Part::rows).collect()
    }
}

/// All vectors of an index.
pub struct VectorSet {
    kind: VectorIndexKind,
    dimensions: usize,
    sealed: Vec<Part>,
    tail: Part,
}

impl VectorSet {
    /// No vectors.
    pub fn new(kind: VectorIndexKind, dimensions: usize) -> Result<Self, Error> {
        let tail = Part::new(Segment::new(Kind::Flat, dimensions)?);
        Ok(Self { kind, dimensions, sealed: Vec::new(), tail })
    }

    /// Adds rows to the tail. It waits for searches of the tail that are under way, which take a millisecond or so.
    pub fn add(&mut self, rows: &[u64], vectors: &[f32]) -> Result<(), Error> {
        self.tail.add(rows, vectors)
    }

    /// Removes rows that follow each other.
    pub fn remove(&mut self, rows: &Range<u64>) {
        self.parts_mut().for_each(|part| part.remove(rows));
    }

    /// Rows that are there.
    pub fn alive(&self) -> usize {
        self.parts().map(Part::alive).sum()
    }

    /// Rows that are in a segment of the kind that was asked for, the others being searched one by one.
    pub fn built(&self) -> usize {
        self.parts().filter(|part| is_built(self.kind, part.kind())).map(Part::alive).sum()
    }

    /// The vectors as they are now, to be searched without holding up anybody.
    pub fn snapshot(&self) -> VectorSnapshot {
        VectorSnapshot { parts: self.parts().cloned().collect() }
    }

    /// Whether enough has changed that the segments should become one, of the kind that was asked for.
    ///
    /// Below `exact_below_rows`, or with too few rows to train the kind, everything stays flat. Above, a rebuild is due when the rows that
    /// are not in a graph have become a quarter of all; and at any size when more than a quarter of the positions are dead.
    pub fn is_rebuild_due(&self, exact_below_rows: usize) -> bool {
        let alive = self.alive();
        let dead: usize = self.parts().map(|part| part.dead).sum();
        let loose = alive - self.built();
        let has_outgrown = self.rebuilt_kind(exact_below_rows) != Kind::Flat && loose * 4 > alive;
        let is_wasteful = dead > 1000 && dead * 4 > alive + dead;
        has_outgrown || is_wasteful
    }

    /// The kind that a rebuild makes now.
    pub fn rebuilt_kind(&self, exact_below_rows: usize) -> Kind {
        kind_for(self.kind, self.alive(), exact_below_rows)
    }

    /// Closes the tail, so that every row so far is in a sealed part, and gives them out for a rebuild.
    pub fn seal(&mut self) -> Result<VectorSnapshot, Error> {
        let empty = Part::new(Segment::new(Kind::Flat, self.dimensions)?);
        let tail = std::mem::replace(&mut self.tail, empty);
        self.sealed.push(tail);
        Ok(VectorSnapshot { parts: self.sealed.clone() })
    }

    /// Puts a rebuilt segment in the place of all sealed ones. Rows that were removed while it was built are dead in it.
    pub fn replace_sealed(&mut self, segment: Segment) {
        let still_there: Vec<u64> = self.sealed.iter().flat_map(Part::rows).collect();
        let gone: Vec<u64> =
            segment.rows.iter().copied().filter(|row| still_there.binary_search(row).is_err()).collect();
        let mut rebuilt = Part::new(segment);
        gone.into_iter().for_each(|row| rebuilt.remove(&(row..row + 1)));
        self.sealed = vec![rebuilt];
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.sealed.iter().chain([&self.tail])
    }

    fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        self.sealed.iter_mut().chain([&mut self.tail])
    }
}

/// Orders hits by their distance, equal ones by their row.
pub fn nearest_first(hits: &mut [Hit]) {
    hits.sort_by(|left, right| left.distance.total_cmp(&right.distance).then(left.row.cmp(&right.row)));
}

fn allowed_positions(segment: &Segment, alive: &PositionSet, allowed: &[Range<u64>]) -> PositionSet {
    let mut positions = PositionSet::with_len(segment.rows.len());
    for position in allowed.iter().flat_map(|rows| segment.positions(rows)) {
        positions.insert(position);
    }
    positions.intersect_with(alive);
    positions
}

#[cfg(test)]
mod tests;
