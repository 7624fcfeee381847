//! The vectors of an index in memory: sealed segments that are never changed, and a tail that rows are added to.
//!
//! A segment of FAISS knows positions, the index knows rows. Rows only grow, so a segment's rows are in order and a row's
//! position is found by bisection. A deleted row stays in its segment as a dead position until a rebuild leaves it out.

use std::ops::Range;
use std::sync::Arc;

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

/// A segment and which of its rows are still there.
struct Part {
    segment: Arc<Segment>,
    alive: PositionSet,
    dead: usize,
}

impl Part {
    fn remove(&mut self, rows: &Range<u64>) {
        self.dead += self.segment.positions(rows).filter(|&position| self.alive.remove(position)).count();
    }
}

/// A segment that can be copied out from under a lock, with what was alive in it then.
#[derive(Clone)]
pub struct SealedPart {
    segment: Arc<Segment>,
    alive: PositionSet,
}

impl SealedPart {
    /// Rows that were alive.
    pub fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        self.alive.iter().map(|position| self.segment.rows[position])
    }
}

/// All vectors of an index.
pub struct VectorSet {
    kind: Kind,
    dimensions: usize,
    sealed: Vec<Part>,
    tail: Segment,
    tail_alive: PositionSet,
    tail_dead: usize,
}

impl VectorSet {
    /// No vectors.
    pub fn new(kind: VectorIndexKind, dimensions: usize) -> Result<Self, Error> {
        Ok(Self {
            kind: faiss_kind(kind),
            dimensions,
            sealed: Vec::new(),
            tail: Segment::new(Kind::Flat, dimensions)?,
            tail_alive: PositionSet::with_len(0),
            tail_dead: 0,
        })
    }

    /// Adds rows to the tail.
    pub fn add(&mut self, rows: &[u64], vectors: &[f32]) -> Result<(), Error> {
        let before = self.tail.rows.len();
        self.tail.add(rows, vectors)?;
        self.tail_alive.grow(self.tail.rows.len());
        (before..self.tail.rows.len()).for_each(|position| {
            self.tail_alive.insert(position);
        });
        Ok(())
    }

    /// Removes rows that follow each other.
    pub fn remove(&mut self, rows: &Range<u64>) {
        self.sealed.iter_mut().for_each(|part| part.remove(rows));
        self.tail_dead += self.tail.positions(rows).filter(|&position| self.tail_alive.remove(position)).count();
    }

    /// Rows that are there.
    pub fn alive(&self) -> usize {
        self.sealed.iter().map(|part| part.segment.rows.len() - part.dead).sum::<usize>() + self.tail.rows.len()
            - self.tail_dead
    }

    /// Whether distances are those of the stored vectors; where they are not, they must be computed again.
    pub fn has_exact_distances(&self) -> bool {
        self.sealed.iter().all(|part| part.segment.index.kind().stores_exact_vectors())
    }

    /// The `k` nearest rows, nearest first; `allowed` are ranges of rows in order, None lets every row through.
    pub fn search(
        &self,
        query: &[f32],
        k: usize,
        allowed: Option<&[Range<u64>]>,
        options: SearchOptions,
    ) -> Result<Vec<Hit>, Error> {
        let sealed = self.sealed.iter().map(|part| (&*part.segment, &part.alive, part.dead));
        let mut hits = Vec::with_capacity(k);
        for (segment, alive, dead) in sealed.chain([(&self.tail, &self.tail_alive, self.tail_dead)]) {
            if segment.rows.is_empty() {
                continue;
            }
            let positions = allowed.map(|rows| allowed_positions(segment, alive, rows));
            let filter = positions.as_ref().or((dead > 0).then_some(alive));
            let found = segment.index.search(query, k, filter, options)?;
            hits.extend(found.iter().map(|near| Hit { row: segment.rows[near.position], distance: near.distance }));
        }
        nearest_first(&mut hits);
        hits.truncate(k);
        Ok(hits)
    }

    /// Whether enough has changed that the segments should become one, of the kind that was asked for.
    ///
    /// Below `exact_below_rows` everything stays flat. Above, a rebuild is due when the rows that are not in a graph have
    /// become a quarter of all and enough to need one; and at any size when more than a quarter of the positions are dead.
    pub fn is_rebuild_due(&self, exact_below_rows: usize) -> bool {
        let alive = self.alive();
        let dead = self.sealed.iter().map(|part| part.dead).sum::<usize>() + self.tail_dead;
        let is_wanted_kind = |part: &&Part| part.segment.index.kind() == self.kind;
        let built: usize = self.sealed.iter().filter(is_wanted_kind).map(|part| part.segment.rows.len()).sum();
        let positions = alive + dead;
        let loose = positions - built.min(positions);
        let has_outgrown = self.kind != Kind::Flat && alive >= exact_below_rows.max(1) && loose * 4 > alive;
        let is_wasteful = dead > 1000 && dead * 4 > positions;
        has_outgrown || is_wasteful
    }

    /// The kind that a rebuild makes now.
    pub fn rebuilt_kind(&self, exact_below_rows: usize) -> Kind {
        match self.alive() >= exact_below_rows.max(1) {
            true => self.kind,
            false => Kind::Flat,
        }
    }

    /// Closes the tail, so that every row so far is in a sealed part, and gives them out for a rebuild.
    pub fn seal(&mut self) -> Result<Vec<SealedPart>, Error> {
        if !self.tail.rows.is_empty() {
            let tail = std::mem::replace(&mut self.tail, Segment::new(Kind::Flat, self.dimensions)?);
            let alive = std::mem::replace(&mut self.tail_alive, PositionSet::with_len(0));
            self.sealed.push(Part { segment: Arc::new(tail), alive, dead: std::mem::take(&mut self.tail_dead) });
        }
        Ok(self
            .sealed
            .iter()
            .map(|part| SealedPart { segment: Arc::clone(&part.segment), alive: part.alive.clone() })
            .collect())
    }

    /// Puts a rebuilt segment in the place of all sealed ones. Rows that were removed while it was built are dead in it.
    pub fn replace_sealed(&mut self, segment: Segment) {
        let rows = segment.rows.len();
        let mut rebuilt = Part { alive: PositionSet::full(rows), segment: Arc::new(segment), dead: 0 };
        for position in 0..rows {
            let row = rebuilt.segment.rows[position];
            let is_alive = self.sealed.iter().any(|part| {
                let at = part.segment.positions(&(row..row + 1));
                !at.is_empty() && part.alive.contains(at.start)
            });
            if !is_alive {
                rebuilt.alive.remove(position);
                rebuilt.dead += 1;
            }
        }
        self.sealed = if rows == 0 { Vec::new() } else { vec![rebuilt] };
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

fn faiss_kind(kind: VectorIndexKind) -> Kind {
    match kind {
        VectorIndexKind::Flat => Kind::Flat,
        VectorIndexKind::Sq8 => Kind::Sq8,
        VectorIndexKind::Hnsw { m } => Kind::Hnsw { m },
        VectorIndexKind::HnswSq8 { m } => Kind::HnswSq8 { m },
    }
}

#[cfg(test)]
mod tests;
