//! The passages that an answer cites, in replies.

use std::mem;
use std::time::Duration;

use ragengine_client::wire::{Citation, QuerySource};
use ragengine_embedding::Embedding;
use ragengine_index::search::RetrievedChunk;
use ragengine_pipeline::answer::{CitedSource, Page, cited_sentences};
use serde_json::Value;
use tokio::time::timeout;
use tracing::warn;

use super::answer_stages::CitedPassage;
use super::passage::{ChatPassage, page};

/// How long an answer waits for the support of its citations.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(2);

/// The most sentences that are embedded for one answer.
const MAX_SENTENCES: usize = 100;

/// What tells the passages from each other for a reader, in order.
pub(super) fn cited_sources(passages: &[ChatPassage]) -> Vec<CitedSource<'_>> {
    passages.iter().map(|passage| CitedSource { title: title(passage), page: cited_page(&passage.chunk) }).collect()
}

/// The page, which may be another value than a number: a reader can tell `iv` from `12-13`.
fn cited_page(chunk: &RetrievedChunk) -> Option<Page<'_>> {
    let other = || chunk.metadata.get("page").filter(|page| !page.is_null()).map(Page::Other);
    page(chunk).map(Page::Number).or_else(other)
}

/// The document's title, else its path, else its id.
fn title(passage: &ChatPassage) -> &str {
    let titles = [known(passage, "title"), known(passage, "path")];
    titles.into_iter().flatten().find(|title| !title.trim().is_empty()).unwrap_or(&passage.chunk.doc_id)
}

fn known<'a>(passage: &'a ChatPassage, name: &str) -> Option<&'a str> {
    passage.chunk.metadata.get(name).and_then(Value::as_str)
}

/// A passage as a citation with this number.
pub(super) fn citation(number: usize, passage: &ChatPassage) -> Citation {
    let chunk = &passage.chunk;
    Citation {
        title: title(passage).to_owned(),
        page: page(&passage.chunk),
        url: known(passage, "url").map(str::to_owned),
        number,
        doc_id: chunk.doc_id.clone(),
        node_id: chunk.node_id.clone(),
        passage: chunk.text.clone(),
        heading: chunk.heading.clone(),
        support: None,
    }
}

/// A passage as a source of `/query` with this number.
pub(super) fn source(index_name: &str, number: usize, passage: &ChatPassage) -> QuerySource {
    let chunk = &passage.chunk;
    QuerySource {
        number,
        index_name: index_name.to_owned(),
        doc_id: chunk.doc_id.clone(),
        node_id: chunk.node_id.clone(),
        text: chunk.text.clone(),
        score: chunk.found.score,
        metadata: (*chunk.metadata).clone(),
    }
}

/// How well each cited passage supports the sentences that cite it, 0 to 1: the least similarity of one of them. None if
/// a sentence cannot be embedded in time.
pub(super) async fn support(
    embedding: &Embedding,
    answer: &str,
    passages: &[ChatPassage],
    cited: &[CitedPassage],
) -> Vec<Option<f32>> {
    let highest = cited.iter().map(|cited| cited.number).max().unwrap_or_default();
    let mut of_numbers = cited_sentences(answer, highest);
    let sentences: Vec<Vec<String>> =
        cited.iter().map(|cited| of_numbers.get_mut(cited.number - 1).map(mem::take).unwrap_or_default()).collect();
    let texts: Vec<String> = sentences.iter().flatten().cloned().collect();
    if texts.is_empty() || texts.len() > MAX_SENTENCES {
        return vec![None; cited.len()];
    }
    let vectors = match timeout(VERIFY_TIMEOUT, embedding.embed_queries(texts)).await {
        Ok(Ok(vectors)) => vectors,
        Ok(Err(error)) => {
            warn!(kind = error.kind(), "citations not verified: their sentences cannot be embedded");
            return vec![None; cited.len()];
        }
        Err(_) => {
            warn!(kind = "timeout", "citations not verified: their sentences were not embedded in time");
            return vec![None; cited.len()];
        }
    };
    let mut vectors = vectors.iter();
    let sources = cited_sources(passages);
    let mut support = Vec::with_capacity(cited.len());
    for (CitedPassage { position, .. }, sentences) in cited.iter().zip(&sentences) {
        // Passages that a reader cannot tell apart have one number.
        let alike: Vec<&[f32]> = (passages.iter().zip(&sources))
            .filter(|(_, other)| sources.get(*position) == Some(other))
            .flat_map(|(passage, _)| passage.members.iter().filter_map(|member| member.vector.as_deref()))
            .collect();
        let least = vectors.by_ref().take(sentences.len()).filter_map(|sentence| nearest(sentence, &alike));
        support.push(least.reduce(f32::min).map(|similarity| similarity.clamp(0.0, 1.0)));
    }
    support
}

/// The cosine similarity of the nearest of these vectors of length 1.
fn nearest(sentence: &[f32], vectors: &[&[f32]]) -> Option<f32> {
    let cosine = |vector: &&[f32]| sentence.iter().zip(vector.iter()).map(|(left, right)| left * right).sum();
    vectors.iter().filter(|vector| vector.len() == sentence.len()).map(cosine).reduce(f32::max)
}
