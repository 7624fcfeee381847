//! The vectors of an index in memory, in segments that never change.
//!
//! A segment of FAISS knows positions, the index knows rows. Rows only grow, so a segment's rows are in order and a row's
//! position is found by bisection. A deleted row stays in its segment as a dead position until a rebuild leaves it out.
//!
//! What is added becomes a small segment of its own, or a longer copy of the last small one, made before anybody is made to wait.
//! So a search holds no more than the segments that it began with, and neither waits for a writer nor makes one wait.

mod kind;
mod segment;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

pub use kind::{is_built, kind_for};
use ragengine_faiss::{Error, Kind, SearchOptions};
use ragengine_settings::VectorIndexKind;
use segment::Part;
pub use segment::Segment;

/// Rows up to which a segment is copied to add to it, which takes a tenth of a millisecond. Beyond, a new one is begun.
const OPEN_ROWS: usize = 1024;

/// Segments that are searched one after the other before they are worth becoming one.
const MAX_PARTS: usize = 32;

/// Rows outside the graph that are worth adding to it whatever their share: comparing with each of them takes as long as the graph.
const MAX_LOOSE_ROWS: usize = 20_000;

/// A row and its squared L2 distance from what was looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The row.
    pub row: u64,
    /// The distance, 0 to 4; lower is nearer.
    pub distance: f32,
}

/// The vectors at one moment: what is added later is not found, what is removed later still is.
#[derive(Clone)]
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
    pub fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        self.parts.iter().flat_map(Part::rows)
    }

    /// The segment that a rebuild may go on from by adding to a copy, instead of beginning anew: one of the right kind, with few dead
    /// rows, and before all others. One that was trained is not: what it learned is of the rows of that time.
    pub fn base(&self, kind: Kind) -> Option<Arc<Segment>> {
        let base = self.parts.first()?;
        let is_good = base.kind() == kind && kind != Kind::Flat && !kind.needs_training();
        let is_dense = base.dead * 10 <= base.segment.rows().len();
        let first_other = self.parts[1..].iter().flat_map(Part::rows).next();
        let is_before = first_other.is_none_or(|row| base.segment.rows().last() < Some(&row));
        (is_good && is_dense && is_before).then(|| Arc::clone(&base.segment))
    }
}

/// Rows that are ready to be shown.
pub struct Addition {
    /// The segment that is to be replaced by this one, which begins with all of its rows.
    grows: Option<Arc<Segment>>,
    segment: Arc<Segment>,
}

/// A segment that is ready to take the place of others.
pub struct Replacement {
    part: Part,
    replaces: VectorSnapshot,
}

impl Replacement {
    /// Of the segment's rows those are there that were in what it replaces.
    pub fn new(segment: Segment, replaces: VectorSnapshot) -> Self {
        Self { part: Part::with_alive(Arc::new(segment), replaces.rows()), replaces }
    }
}

/// All vectors of an index.
#[derive(Clone)]
pub struct VectorSet {
    kind: VectorIndexKind,
    dimensions: usize,
    /// Their rows ascend from one to the next.
    parts: Vec<Part>,
    /// So many of them are being rebuilt, or have been: they are not added to.
    closed: usize,
}

impl VectorSet {
    /// No vectors.
    pub fn new(kind: VectorIndexKind, dimensions: usize) -> Self {
        Self { kind, dimensions, parts: Vec::new(), closed: 0 }
    }

    /// Takes a segment of which the given rows are there, after all others.
    pub fn take(&mut self, segment: Segment, alive: impl IntoIterator<Item = u64>) {
        self.parts.push(Part::with_alive(Arc::new(segment), alive));
        self.closed = self.parts.len();
    }

    /// Makes rows ready to be added, which must be greater than all before. One addition at a time.
    pub fn prepare(&self, rows: &[u64], vectors: &[f32]) -> Result<Addition, Error> {
        #[cfg(test)]
        tests::refuse_if_told()?;
        let grows = self.open().filter(|segment| segment.rows().len() + rows.len() <= OPEN_ROWS);
        let mut segment = match grows {
            Some(open) => open.copy()?,
            None => Segment::new(Kind::Flat, self.dimensions)?,
        };
        segment.add(rows, vectors)?;
        Ok(Addition { grows: grows.cloned(), segment: Arc::new(segment) })
    }

    /// Adds what was made ready.
    pub fn add(&mut self, addition: Addition) {
        let Addition { grows, segment } = addition;
        let is_open = |open: &Arc<Segment>| self.open().is_some_and(|last| Arc::ptr_eq(last, open));
        match (grows.as_ref().is_some_and(is_open), self.parts.last_mut()) {
            (true, Some(last)) => last.grow(segment),
            // The segment has been closed meanwhile: its rows are where they were, and dead here.
            _ => self.parts.push(Part::new(segment, grows.map_or(0, |closed| closed.rows().len()))),
        }
    }

    /// Removes rows that follow each other.
    pub fn remove(&mut self, rows: &Range<u64>) {
        self.parts.iter_mut().for_each(|part| part.remove(rows));
    }

    /// Rows that are there.
    pub fn alive(&self) -> usize {
        self.parts.iter().map(Part::alive).sum()
    }

    /// Rows that are in a segment of the kind that was asked for, the others being searched one by one.
    pub fn built(&self) -> usize {
        self.parts.iter().filter(|part| is_built(self.kind, part.kind())).map(Part::alive).sum()
    }

    /// The kind of the segment that most rows are in.
    pub fn largest_kind(&self) -> Kind {
        self.parts.iter().max_by_key(|part| part.alive()).map_or(Kind::Flat, Part::kind)
    }

    /// The segment that takes long to build, when there is one.
    pub fn built_segment(&self) -> Option<&Arc<Segment>> {
        self.parts.iter().map(|part| &part.segment).find(|segment| segment.kind() != Kind::Flat)
    }

    /// The vectors as they are now, to be searched without holding up anybody.
    pub fn snapshot(&self) -> VectorSnapshot {
        VectorSnapshot { parts: self.parts.clone() }
    }

    /// Whether enough has changed that the segments should become one, of the kind that was asked for.
    ///
    /// Below `exact_below_rows`, or with too few rows to train the kind, everything stays flat. Above, a rebuild is due when the rows that
    /// are not in a graph have become a quarter of all, or many where they can be added to it; and at any size when more than a quarter of
    /// the positions are dead, or when there are many segments beside the largest with a quarter of all rows.
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

    /// The kind that a rebuild makes now.
    pub fn rebuilt_kind(&self, exact_below_rows: usize) -> Kind {
        kind_for(self.kind, self.alive(), exact_below_rows)
    }

    /// Closes all segments, and gives them out for a rebuild.
    pub fn close(&mut self) -> VectorSnapshot {
        self.closed = self.parts.len();
        self.snapshot()
    }

    /// Puts a rebuilt segment in the place of those that it was made of, and returns these, whose memory takes a while to give back.
    /// Rows that were removed while it was built are dead in it.
    pub fn replace(&mut self, replacement: Replacement) -> VectorSnapshot {
        let Replacement { mut part, replaces } = replacement;
        let count = replaces.parts.len();
        let pairs = self.parts.iter().zip(&replaces.parts);
        pairs.flat_map(|(now, then)| now.rows_gone_since(then)).for_each(|row| part.remove(&(row..row + 1)));
        let replaced = self.parts.splice(..count, [part]).collect();
        self.closed = 1;
        VectorSnapshot { parts: replaced }
    }

    /// The segment that is added to.
    fn open(&self) -> Option<&Arc<Segment>> {
        let last = self.parts.last().filter(|_| self.parts.len() > self.closed)?;
        (last.kind() == Kind::Flat).then_some(&last.segment)
    }
}

/// The `k` nearest rows of several searches, nearest first, each with its least distance. Where each search has found its `k` nearest, these are
/// the nearest of all: a row that one of them has left out has `k` others that are no farther.
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

/// Orders hits by their distance, equal ones by their row.
pub fn nearest_first(hits: &mut [Hit]) {
    hits.sort_by(|left, right| left.distance.total_cmp(&right.distance).then(left.row.cmp(&right.row)));
}

#[cfg(test)]
pub(crate) mod tests;
