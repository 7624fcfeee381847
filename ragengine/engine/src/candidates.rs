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
            let found = self.results.found();
            let is_there = |position: &usize| *position >= first || chunks.has_vector(&found[*position]);
            let kept: Vec<usize> = (0..found.len()).filter(is_there).collect();
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

    /// The stored vectors of the first results, in order, and at most `most`. See [`Self::vector`].
    ///
    /// # Errors
    ///
    /// If the disk fails, or a vector is missing.
    pub fn first_vectors(&self, most: usize) -> Result<Vec<Vec<f32>>, IndexError> {
        (0..self.results.len().min(most)).map(|position| self.vector(position)).collect()
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
