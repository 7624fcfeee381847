use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ragengine_faiss::{Error, Kind, PositionSet, SearchOptions, VectorIndex};

use super::Hit;

/// Vectors, and their rows by position. It is immutable once it is in a [`Part`].
pub struct Segment {
    index: VectorIndex,
    rows: Vec<u64>,
}

impl Segment {
    /// An empty segment.
    pub fn new(kind: Kind, dimensions: usize) -> Result<Self, Error> {
        Ok(Self { index: VectorIndex::new(kind, dimensions)?, rows: Vec::new() })
    }

    /// Reads a segment written by [`Self::write`]. None if the numbers of vectors and rows differ.
    pub fn read(path: &Path, kind: Kind, dimensions: usize, rows: Vec<u64>) -> Result<Option<Self>, Error> {
        let index = VectorIndex::read(path, kind, dimensions)?;
        Ok((index.len() == rows.len()).then_some(Self { index, rows }))
    }

    /// Writes the vectors, without the rows, to a file and syncs it.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.index.write(path)
    }

    /// The size of the file that [`Self::write`] makes, in bytes.
    pub fn file_bytes(&self) -> Result<u64, Error> {
        self.index.file_bytes()
    }

    /// A copy, to which rows can be added.
    pub fn copy(&self) -> Result<Self, Error> {
        Ok(Self { index: self.index.copy()?, rows: self.rows.clone() })
    }

    /// Trains the segment if its kind needs that.
    pub fn train(&mut self, vectors: &[f32]) -> Result<(), Error> {
        if self.index.kind().needs_training() { self.index.train(vectors) } else { Ok(()) }
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

    /// The rows, in order.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// The kind of the FAISS index.
    pub fn kind(&self) -> Kind {
        self.index.kind()
    }

    /// The vector at a position, as the FAISS index stores it.
    pub fn vector(&self, position: usize) -> Result<Vec<f32>, Error> {
        self.index.reconstruct(position)
    }

    /// The positions of a range of rows. Empty if they are not in the segment.
    pub fn positions(&self, rows: &Range<u64>) -> Range<usize> {
        let start = self.first_at_or_after(rows.start, 0);
        start..self.first_at_or_after(rows.end, start)
    }

    /// The first position from `from` on whose row is at least `row`.
    fn first_at_or_after(&self, row: u64, from: usize) -> usize {
        let Some(&first) = self.rows.get(from) else { return from };
        // Rows are distinct, so `row` is at most `row - first` positions away, and exactly there if no row is missing.
        let distance = usize::try_from(row.saturating_sub(first)).unwrap_or(usize::MAX);
        let farthest = from.saturating_add(distance).min(self.rows.len());
        if self.rows.get(farthest) == Some(&row) {
            return farthest;
        }
        from + self.rows[from..farthest].partition_point(|other| *other < row)
    }
}

/// A segment, and which of its rows are alive. The set is copied on write, so readers keep a consistent state.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) segment: Arc<Segment>,
    pub(super) alive: Arc<PositionSet>,
    pub(super) dead: usize,
}

impl Part {
    /// A segment whose rows from position `first` on are alive.
    pub(super) fn new(segment: Arc<Segment>, first: usize) -> Self {
        let mut alive = PositionSet::with_len(segment.rows.len());
        alive.insert_range(first..segment.rows.len());
        Self { segment, alive: Arc::new(alive), dead: first }
    }

    /// A segment of which only the given rows are alive. They must be sorted.
    pub(super) fn with_alive(segment: Arc<Segment>, rows: impl IntoIterator<Item = u64>) -> Self {
        let mut alive = PositionSet::with_len(segment.rows.len());
        let mut position = 0;
        for row in rows {
            position = segment.first_at_or_after(row, position);
            if segment.rows.get(position) == Some(&row) {
                alive.insert(position);
            }
        }
        let dead = alive.len() - alive.count();
        Self { segment, alive: Arc::new(alive), dead }
    }

    /// Replaces the segment by an extended copy.
    pub(super) fn grow(&mut self, segment: Arc<Segment>) {
        let alive = Arc::make_mut(&mut self.alive);
        let before = alive.len();
        alive.grow(segment.rows.len());
        alive.insert_range(before..segment.rows.len());
        self.segment = segment;
    }

    pub(super) fn remove(&mut self, rows: &Range<u64>) {
        let positions = self.segment.positions(rows);
        if !positions.is_empty() {
            let alive = Arc::make_mut(&mut self.alive);
            self.dead += positions.filter(|&position| alive.remove(position)).count();
        }
    }

    /// Rows that were alive in an earlier state of this part and are dead now.
    pub(super) fn rows_gone_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = u64> + 'a {
        let is_same = Arc::ptr_eq(&self.alive, &earlier.alive);
        let gone = (!is_same).then(|| earlier.alive.iter_without(&self.alive));
        gone.into_iter().flatten().map(|position| earlier.segment.rows[position])
    }

    pub(super) fn search(
        &self,
        query: &[f32],
        k: usize,
        allowed: Option<&PositionSet>,
        options: SearchOptions,
    ) -> Result<Vec<Hit>, Error> {
        let filter = allowed.or((self.dead > 0).then_some(&*self.alive));
        let found = self.segment.index.search(query, k, filter, options)?;
        let hit =
            |near: &ragengine_faiss::Neighbor| Hit { row: self.segment.rows[near.position], distance: near.distance };
        Ok(found.iter().map(hit).collect())
    }

    /// The alive positions of rows in sorted ranges.
    pub(super) fn allowed_positions(&self, allowed: &[Range<u64>]) -> PositionSet {
        let mut positions = PositionSet::with_len(self.segment.rows.len());
        let (Some(&first), Some(&last)) = (self.segment.rows.first(), self.segment.rows.last()) else {
            return positions;
        };
        let begin = allowed.partition_point(|rows| rows.end <= first);
        let mut from = 0;
        for rows in allowed[begin..].iter().take_while(|rows| rows.start <= last) {
            let start = self.segment.first_at_or_after(rows.start, from);
            from = self.segment.first_at_or_after(rows.end, start);
            positions.insert_range(start..from);
        }
        if self.dead > 0 {
            positions.intersect_with(&self.alive);
        }
        positions
    }

    /// The position of a row, if the segment has it.
    pub(super) fn position(&self, row: u64) -> Option<usize> {
        let position = self.segment.first_at_or_after(row, 0);
        (self.segment.rows.get(position) == Some(&row)).then_some(position)
    }

    /// The rows that are alive, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        self.alive.iter().map(|position| self.segment.rows[position])
    }

    pub(super) fn alive(&self) -> usize {
        self.alive.len() - self.dead
    }

    pub(super) fn kind(&self) -> Kind {
        self.segment.kind()
    }
}
