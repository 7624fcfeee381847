//! The BM25 scores of given chunks.

use std::collections::{BTreeSet, HashMap};

use tantivy::query::{Bm25StatisticsProvider as _, BooleanQuery, EnableScoring, Query as _};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TantivyError};

use super::FullTextError;
use super::analysis::QueryWord;
use super::search::{Statistics, any_of, idf, known, terms_of};
use super::segment::field;
use super::set::{TextPart, TextSet};
use crate::Index;

impl TextSet {
    /// The BM25 scores of these rows. Those without any of the words are missing.
    ///
    /// # Errors
    ///
    /// If tantivy fails, for example because it cannot read a file.
    pub fn scores(&self, words: &BTreeSet<QueryWord>, rows: &[u64]) -> Result<HashMap<u64, f32>, TantivyError> {
        let statistics = Statistics(self.parts());
        let (terms, _) = known(words, &statistics)?;
        let mut scores = HashMap::new();
        if terms.is_empty() || rows.is_empty() {
            return Ok(scores);
        }
        let query = any_of(terms);
        for part in self.parts() {
            add_scores(part, &query, &statistics, rows, &mut scores)?;
        }
        Ok(scores)
    }

    /// The sum of the inverse document frequencies of the words that a row has.
    ///
    /// # Errors
    ///
    /// If tantivy fails, for example because it cannot read a file.
    pub fn idf_of(&self, words: &BTreeSet<QueryWord>, row: u64) -> Result<f32, TantivyError> {
        let statistics = Statistics(self.parts());
        let chunks = statistics.total_num_docs()?;
        let place = |part| Some((part, position(part, row)?));
        let Some((part, position)) = self.parts().iter().find_map(place) else { return Ok(0.0) };
        let Some(reader) = part.segment.reader() else { return Ok(0.0) };
        let postings = reader.inverted_index(field())?;
        let mut sum = 0.0;
        for word in words {
            let (mut most, mut is_there) = (0, false);
            for term in terms_of(word) {
                most = most.max(statistics.doc_freq(&term)?);
                let found = postings.read_postings(&term, IndexRecordOption::Basic)?;
                is_there |= found.is_some_and(|mut found| is_at(&mut found, position));
            }
            if is_there {
                sum += idf(most, chunks);
            }
        }
        Ok(sum)
    }
}

/// Whether a word or a query is found at a position. It only moves forwards.
fn is_at(found: &mut impl DocSet, position: u32) -> bool {
    if found.doc() < position {
        found.seek(position);
    }
    found.doc() == position
}

/// The position of a row in a segment.
fn position(part: &TextPart, row: u64) -> Option<u32> {
    u32::try_from(part.segment.rows().binary_search(&row).ok()?).ok()
}

/// Adds the scores of the rows that a segment has.
fn add_scores(
    part: &TextPart,
    query: &BooleanQuery,
    statistics: &Statistics<'_>,
    rows: &[u64],
    scores: &mut HashMap<u64, f32>,
) -> Result<(), TantivyError> {
    let Some(reader) = part.segment.reader() else { return Ok(()) };
    let mut positions: Vec<(u32, u64)> = rows.iter().filter_map(|row| Some((position(part, *row)?, *row))).collect();
    if positions.is_empty() {
        return Ok(());
    }
    positions.sort_unstable();
    let scoring = EnableScoring::enabled_from_statistics_provider(statistics, part.segment.searcher());
    let mut scorer = query.weight(scoring)?.scorer(reader, 1.0)?;
    for (position, row) in positions {
        if is_at(&mut scorer, position) {
            scores.insert(row, scorer.score());
        }
    }
    Ok(())
}

impl Index {
    /// The BM25 scores of rows of a state of the index.
    ///
    /// # Errors
    ///
    /// If tantivy fails.
    pub(crate) fn score_text(
        &self,
        text: &TextSet,
        query: &str,
        rows: &[u64],
    ) -> Result<HashMap<u64, f32>, FullTextError> {
        let words = self.full_text.analyzer.clone().words_of_query(query);
        Ok(text.scores(&words, rows)?)
    }

    /// The sum of the inverse document frequencies of the words of a query that a row has.
    ///
    /// # Errors
    ///
    /// If tantivy fails.
    pub(crate) fn idf_of_row(&self, text: &TextSet, query: &str, row: u64) -> Result<f32, FullTextError> {
        let words = self.full_text.analyzer.clone().words_of_query(query);
        Ok(text.idf_of(&words, row)?)
    }
}
