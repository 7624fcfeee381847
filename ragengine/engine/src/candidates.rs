use std::ops::{Deref, DerefMut};

use jiff::civil::Date;
use ragengine_index::IndexError;
use ragengine_index::search::{ChunkReader, Found, Results, RetrievedChunk, TextOutcome};

use crate::external::FoundChunks;

/// The results of a search, best first, and their chunks.
pub struct Candidates {
    results: Results,
    /// The outcome of the search by words.
    pub text: TextOutcome,
    chunks: Chunks,
}

/// What reads the chunks.
enum Chunks {
    /// They are in the store of the index.
    Local(ChunkReader),
    /// They came with the results.
    External(FoundChunks),
}

impl From<ragengine_index::search::Candidates> for Candidates {
    fn from(candidates: ragengine_index::search::Candidates) -> Self {
        let ragengine_index::search::Candidates { results, text, chunks } = candidates;
        Self { results, text, chunks: Chunks::Local(chunks) }
    }
}

impl Deref for Candidates {
    type Target = Results;

    fn deref(&self) -> &Results {
        &self.results
    }
}

impl DerefMut for Candidates {
    fn deref_mut(&mut self) -> &mut Results {
        &mut self.results
    }
}

impl Candidates {
    /// Results of an external engine.
    pub(crate) fn external(results: Results, text: TextOutcome, chunks: FoundChunks) -> Self {
        Self { results, text, chunks: Chunks::External(chunks) }
    }

    /// Makes the vectors of results known to [`Self::vector`]. Those of a local index always are.
    ///
    /// # Errors
    ///
    /// If the engine fails.
    pub async fn load_vectors(&mut self, positions: impl IntoIterator<Item = usize>) -> Result<(), IndexError> {
        match &mut self.chunks {
            Chunks::Local(_) => Ok(()),
            Chunks::External(chunks) => chunks.load_vectors(&self.results.at(positions)).await,
        }
    }

    /// Makes the vectors of the first results known to [`Self::vector`], at most `most`. Results of an external engine
    /// whose documents were replaced since the search are dropped.
    ///
    /// # Errors
    ///
    /// If the engine fails.
    pub async fn load_first_vectors(&mut self, most: usize) -> Result<(), IndexError> {
        let first = self.results.len().min(most);
        self.load_vectors(0..first).await?;
        if let Chunks::External(chunks) = &self.chunks {
            let kept = there(self.results.found(), first, |found| chunks.has_vector(found));
            self.results.reorder(&kept);
        }
        Ok(())
    }

    /// The stored vector of the result at a position. For an external engine, after [`Self::load_vectors`].
    ///
    /// # Errors
    ///
    /// If the disk fails, or the vector is missing.
    pub fn vector(&self, position: usize) -> Result<Vec<f32>, IndexError> {
        let found = &self.results.found()[position];
        match &self.chunks {
            Chunks::Local(chunks) => chunks.vector(found),
            Chunks::External(chunks) => chunks.vector(found),
        }
    }

    /// The stored vectors of the first results, in order, and at most `most`. See [`Self::vector`]. There are fewer of
    /// an external engine, after [`Self::load_first_vectors`], where results were dropped: those behind moved up, and
    /// their vectors are not known.
    ///
    /// # Errors
    ///
    /// If the disk fails, or a vector is missing.
    pub fn first_vectors(&self, most: usize) -> Result<Vec<Vec<f32>>, IndexError> {
        let first = self.results.first(most);
        let count = match &self.chunks {
            Chunks::Local(_) => first.len(),
            Chunks::External(chunks) => known(first, |found| chunks.has_vector(found)),
        };
        (0..count).map(|position| self.vector(position)).collect()
    }

    /// The ids of the first chunks in the API, in order, and at most `most`.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn first_node_ids(&self, most: usize) -> Result<Vec<String>, IndexError> {
        match &self.chunks {
            Chunks::Local(chunks) => chunks.node_ids(self.results.first(most)),
            Chunks::External(chunks) => Ok(chunks.node_ids(self.results.first(most))),
        }
    }

    /// The days of the results' documents, in order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn days(&self) -> Result<Vec<Option<Date>>, IndexError> {
        match &self.chunks {
            Chunks::Local(chunks) => chunks.days(self.results.found()),
            Chunks::External(chunks) => Ok(chunks.days(self.results.found())),
        }
    }

    /// The token counts of the chunks at these positions, in order. A local index saves them.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn token_counts(
        &self,
        tokenizer: u64,
        positions: &[usize],
        count: impl Fn(&RetrievedChunk) -> u64,
    ) -> Result<Vec<u64>, IndexError> {
        let found = self.results.at(positions.iter().copied());
        match &self.chunks {
            Chunks::Local(chunks) => chunks.token_counts(tokenizer, &found, count),
            Chunks::External(chunks) => Ok(chunks.read(&found).iter().map(count).collect()),
        }
    }

    /// Reads the chunks at these positions, in the given order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read(&self, positions: impl IntoIterator<Item = usize>) -> Result<Vec<RetrievedChunk>, IndexError> {
        self.read_found(&self.results.at(positions))
    }

    /// Reads all chunks.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read_all(&self) -> Result<Vec<RetrievedChunk>, IndexError> {
        self.read_found(self.results.found())
    }

    fn read_found(&self, found: &[Found]) -> Result<Vec<RetrievedChunk>, IndexError> {
        match &self.chunks {
            Chunks::Local(chunks) => chunks.read(found),
            Chunks::External(chunks) => Ok(chunks.read(found)),
        }
    }
}

/// The positions of results that are still there: all but those of the first ones without a vector.
fn there(found: &[Found], first: usize, has_vector: impl Fn(&Found) -> bool) -> Vec<usize> {
    (0..found.len()).filter(|position| *position >= first || has_vector(&found[*position])).collect()
}

/// The number of results before the first one whose vector is not known.
fn known(found: &[Found], has_vector: impl Fn(&Found) -> bool) -> usize {
    found.iter().take_while(|found| has_vector(found)).count()
}

#[cfg(test)]
mod tests {
    use ragengine_index::search::Hit;

    use super::*;

    /// The vectors of the first three of five results are read.
    #[test]
    fn only_results_with_a_known_vector_are_compared() {
        for (read, left, compared) in [
            (vec![0, 1, 2], vec![0, 1, 2, 3, 4], 3),
            (vec![0, 2], vec![0, 2, 3, 4], 2),
            (vec![1, 2], vec![1, 2, 3, 4], 2),
            (vec![], vec![3, 4], 0),
        ] {
            let found = |row| Found::from(Hit { row, distance: 1.0 });
            let mut results = Results::from((0..5).map(found).collect::<Vec<_>>());
            let has_vector = |found: &Found| read.contains(&found.row);
            results.reorder(&there(results.found(), 3, has_vector));
            assert_eq!(results.found().iter().map(|found| found.row).collect::<Vec<_>>(), left, "{read:?}");
            assert_eq!(known(results.first(3), has_vector), compared, "{read:?}");
        }
    }
}
