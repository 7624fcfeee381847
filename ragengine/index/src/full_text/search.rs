//! Searches the full text by BM25, with the statistics of all segments.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, EnableScoring, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{TantivyError, Term};

use super::FullTextError;
use super::analysis::QueryWord;
use super::segment::field;
use super::set::{TextPart, TextSet};
use crate::Index;

/// The most terms of a query that are searched for. Of more, the rarest are: a long text is known by its rare words.
pub const MAX_TERMS: usize = 64;

/// A chunk that was found by its words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextHit {
    /// The chunk's row.
    pub row: u64,
    /// Its BM25 score, above 0. Scores of different queries cannot be compared.
    pub bm25: f32,
}

/// The result of a search by words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextHits {
    /// The chunks, best first.
    pub hits: Vec<TextHit>,
    /// How well the index knows the words of the query.
    pub words: KnownWords,
}

/// How well an index knows the words of a query. A word counts by its inverse document frequency (IDF), as in BM25; one
/// that no chunk has counts most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct KnownWords {
    /// The number of different words.
    pub count: usize,
    /// How many of them no chunk has.
    pub unknown: usize,
    /// The sum of the IDF of all words.
    pub idf: f32,
    /// The sum of the IDF of those that no chunk has.
    pub unknown_idf: f32,
}

/// A hit in a heap: a larger score is better, then a smaller row.
#[derive(PartialEq)]
struct Ranked(f32, Reverse<u64>);

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl TextSet {
    /// Finds the `k` best chunks that have one of the words and whose row is allowed.
    ///
    /// # Errors
    ///
    /// If tantivy fails, for example because it cannot read a file.
    pub fn search(
        &self,
        words: &BTreeSet<QueryWord>,
        k: usize,
        is_allowed: &dyn Fn(u64) -> bool,
    ) -> Result<TextHits, TantivyError> {
        let statistics = Statistics(self.parts());
        let (terms, words) = known(words, &statistics)?;
        if terms.is_empty() || k == 0 {
            return Ok(TextHits { hits: Vec::new(), words });
        }
        let query = any_of(terms);
        let mut best = Best { heap: BinaryHeap::new(), most: k };
        for part in self.parts() {
            collect(part, &query, &statistics, is_allowed, &mut best)?;
        }
        let hits = best.heap.into_sorted_vec().into_iter();
        let hits = hits.map(|Reverse(Ranked(bm25, Reverse(row)))| TextHit { row, bm25 }).collect();
        Ok(TextHits { hits, words })
    }
}

/// The terms that some chunk has, rarest first and at most [`MAX_TERMS`], and how well the words are known.
pub(super) fn known(
    words: &BTreeSet<QueryWord>,
    statistics: &Statistics<'_>,
) -> Result<(Vec<Term>, KnownWords), TantivyError> {
    let chunks = statistics.total_num_docs()?;
    let (mut terms, mut known) = (BTreeSet::new(), KnownWords { count: words.len(), ..KnownWords::default() });
    for word in words {
        let mut most = 0;
        for term in terms_of(word) {
            let frequency = statistics.doc_freq(&term)?;
            most = most.max(frequency);
            if frequency > 0 {
                terms.insert((frequency, term));
            }
        }
        let idf = idf(most, chunks);
        known.idf += idf;
        if most == 0 {
            known.unknown += 1;
            known.unknown_idf += idf;
        }
    }
    Ok((terms.into_iter().take(MAX_TERMS).map(|(_, term)| term).collect(), known))
}

/// The terms that a word is searched by.
pub(super) fn terms_of(word: &QueryWord) -> [Term; 2] {
    [&word.in_prose, &word.in_code].map(|term| Term::from_field_text(field(), term))
}

/// The inverse document frequency of BM25.
#[expect(clippy::cast_precision_loss, reason = "a frequency needs no more digits")]
pub fn idf(frequency: u64, chunks: u64) -> f32 {
    let (frequency, chunks) = (frequency as f32, chunks as f32);
    (1.0 + (chunks - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// The chunks that have one of the terms.
pub(super) fn any_of(terms: Vec<Term>) -> BooleanQuery {
    let of_term = |term| Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>;
    BooleanQuery::union(terms.into_iter().map(of_term).collect())
}

/// Adds the best chunks of a segment to those found before.
fn collect(
    part: &TextPart,
    query: &BooleanQuery,
    statistics: &Statistics<'_>,
    is_allowed: &dyn Fn(u64) -> bool,
    best: &mut Best,
) -> Result<(), TantivyError> {
    let Some(reader) = part.segment.reader() else { return Ok(()) };
    let scoring = EnableScoring::enabled_from_statistics_provider(statistics, part.segment.searcher());
    let weight = query.weight(scoring)?;
    let rows = part.segment.rows();
    weight.for_each_pruning(best.threshold(), reader, &mut |position, bm25| {
        let row = rows[position as usize];
        if part.is_alive(position) && is_allowed(row) {
            best.push(Ranked(bm25, Reverse(row)));
        }
        best.threshold()
    })
}

/// The best `most` chunks so far.
struct Best {
    heap: BinaryHeap<Reverse<Ranked>>,
    most: usize,
}

impl Best {
    fn push(&mut self, found: Ranked) {
        self.heap.push(Reverse(found));
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// The score that another chunk must exceed.
    fn threshold(&self) -> f32 {
        let worst = self.heap.peek().filter(|_| self.heap.len() >= self.most);
        worst.map_or(f32::MIN, |Reverse(Ranked(bm25, _))| *bm25)
    }
}

/// The statistics of all segments together, so that scores do not depend on how chunks are spread over them. Dead
/// chunks count until they are merged away.
pub(super) struct Statistics<'a>(pub(super) &'a [TextPart]);

impl Statistics<'_> {
    fn sum(&self, of: impl Fn(&TextPart) -> Result<u64, TantivyError>) -> Result<u64, TantivyError> {
        self.0.iter().map(of).sum()
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> Result<u64, TantivyError> {
        self.sum(|part| part.segment.searcher().total_num_tokens(field))
    }

    fn total_num_docs(&self) -> Result<u64, TantivyError> {
        self.sum(|part| part.segment.searcher().total_num_docs())
    }

    fn doc_freq(&self, term: &Term) -> Result<u64, TantivyError> {
        self.sum(|part| Bm25StatisticsProvider::doc_freq(part.segment.searcher(), term))
    }
}

impl Index {
    /// Searches the full text of a state of the index.
    ///
    /// # Errors
    ///
    /// If tantivy fails.
    pub(crate) fn search_text(
        &self,
        text: &TextSet,
        query: &str,
        k: usize,
        is_allowed: &dyn Fn(u64) -> bool,
    ) -> Result<TextHits, FullTextError> {
        let words = self.full_text.analyzer.clone().words_of_query(query);
        Ok(text.search(&words, k, is_allowed)?)
    }
}
