use ragengine_embedding::has_document_names;
use ragengine_index::search::{COMPARED, Distribution, MIN_CHUNKS, Observed, Query, SAMPLED_VECTORS};
use ragengine_index::{IndexError, NamedText};
use ragengine_pipeline::ranking::answerable::Evidence;

use super::ExternalIndex;
use super::fault::of_engine;
use super::search::{Search, Searched};
use super::words::{Frequencies, terms_of_chunk};

impl ExternalIndex {
    /// What both searches tell about whether the index can answer a query. None if the index is small, nearly all of
    /// its chunks have the same vector, or it has no chunk that the filter allows.
    ///
    /// # Errors
    ///
    /// If a vector or the filter cannot be used, or the vector database fails.
    pub async fn evidence(&self, query: &Query, text: &str) -> Result<Option<Evidence>, IndexError> {
        let chunks = usize::try_from(self.size().await?.chunks).unwrap_or(usize::MAX);
        if chunks < MIN_CHUNKS {
            return Ok(None);
        }
        let search = Search {
            vectors: &query.vectors,
            filter: &query.filter,
            nearest: COMPARED,
            by_words: Some((text, COMPARED)),
            adds_scores: true,
        };
        let words = self.words(text).await?;
        let (searched, frequencies, background) = tokio::try_join!(
            self.searched(search),
            Frequencies::of(&self.engine, &words, chunks as u64),
            self.background(chunks)
        )?;
        let Searched { hits, both, vectors } = searched;
        let has_document_names = has_document_names(&self.record.embedding_fingerprint);
        let observed = Observed { both, words: frequencies.known(&words), chunks, background, has_document_names };
        let covered = |row: u64| {
            let hit = hits.get(usize::try_from(row).ok()?)?;
            let document = NamedText::of(&hit.document.metadata);
            let terms = terms_of_chunk(&mut self.analyzer.clone(), &document, hit.heading.as_deref(), &hit.text);
            Some(frequencies.covered(&words, &terms))
        };
        observed.evidence(|row| self.distance(&query.vectors, &hits, &vectors, row), covered)
    }

    async fn background(&self, chunks: usize) -> Result<Distribution, IndexError> {
        match self.background.known(chunks) {
            Some(known) => Ok(known),
            None => {
                let sample = self.engine.sample_vectors(SAMPLED_VECTORS).await.map_err(of_engine)?;
                Ok(self.background.keep(chunks, &sample))
            }
        }
    }
}
