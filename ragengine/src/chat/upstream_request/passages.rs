//! The passages of a prompt as fields of a reply.

use std::sync::Arc;

use ragengine_client::wire::SourceNode;

use super::super::citations::{citation, source};
use super::super::passage::ChatPassage;
use super::json_text;
use crate::error::ApiError;

/// The passages in the prompt, as a JSON list.
pub(super) async fn sources(passages: Arc<[ChatPassage]>) -> Result<String, ApiError> {
    let bytes = bytes_of(&passages);
    let write = move |_: &_| json_text(&passages.iter().map(source_node).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// The passages in the prompt with their numbers and relevance, as a JSON list.
pub(super) async fn numbered_sources(index_name: &str, passages: Arc<[ChatPassage]>) -> Result<String, ApiError> {
    let (index_name, bytes) = (index_name.to_owned(), bytes_of(&passages));
    let numbered = move |(number, passage): (usize, &ChatPassage)| source(&index_name, number, passage);
    let write = move |_: &_| json_text(&(1..).zip(passages.iter()).map(numbered).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

/// The passages in the prompt as citations, as a JSON list.
pub(super) async fn citations(passages: Arc<[ChatPassage]>) -> Result<String, ApiError> {
    let bytes = bytes_of(&passages);
    let numbered = |(number, passage): (usize, &ChatPassage)| citation(number, passage);
    let write = move |_: &_| json_text(&(1..).zip(passages.iter()).map(numbered).collect::<Vec<_>>());
    ragengine_compute::run(bytes, write).await
}

fn bytes_of(passages: &[ChatPassage]) -> usize {
    passages.iter().map(|passage| passage.chunk.text.len() + passage.chunk.metadata_bytes).sum()
}

/// Converts a passage to the form in chat replies. Its id is that of its best chunk.
fn source_node(ChatPassage { chunk, .. }: &ChatPassage) -> SourceNode {
    SourceNode {
        doc_id: chunk.doc_id.clone(),
        node_id: chunk.node_id.clone(),
        text: chunk.text.clone(),
        score: chunk.found.distance,
        metadata: (*chunk.metadata).clone(),
    }
}
