//! The passages of a prompt: chunks, of which neighbours of a document are joined.

use ragengine_index::search::RetrievedChunk;
use ragengine_pipeline::ranking::passages::{Selected, joined};
use ragengine_pipeline::request::Diversity;

/// A passage of the prompt, with one number.
#[derive(Debug, Clone)]
pub(super) struct ChatPassage {
    /// The best of its chunks, with the text of all of them.
    pub chunk: RetrievedChunk,
    /// All of its chunks, in the order of the document.
    pub members: Vec<Member>,
}

/// A chunk of a passage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// Its place in the list of selected chunks.
    pub place: usize,
    /// Its position in the document, from 0.
    pub ordinal: u32,
    /// Its id in the API.
    pub node_id: String,
    /// Its vector, if citations are verified.
    pub vector: Option<Vec<f32>>,
}

/// The passages of the selected chunks, which are in the order of their rank. Neighbours on a page are joined unless
/// nothing is done about chunks that say the same.
pub(super) fn passages(selected: Vec<RetrievedChunk>, diversity: Diversity) -> Vec<ChatPassage> {
    if diversity == Diversity::None {
        return selected.into_iter().enumerate().map(|(place, chunk)| single(place, chunk)).collect();
    }
    let parts: Vec<Selected<'_, &str>> = selected
        .iter()
        .map(|chunk| Selected {
            document: chunk.doc_id.as_str(),
            ordinal: chunk.ordinal,
            page: page(chunk),
            bytes: None,
            text: &chunk.text,
        })
        .collect();
    let passage = |joined: ragengine_pipeline::ranking::passages::Joined| {
        let members: Vec<Member> = joined.members.iter().map(|&place| member(place, &selected[place])).collect();
        let first = joined.members.first().copied().unwrap_or_default();
        let chunk = RetrievedChunk {
            text: joined.text.clone(),
            heading: selected[first].heading.clone(),
            ..selected[joined.best()].clone()
        };
        ChatPassage { chunk, members }
    };
    joined(&parts).into_iter().map(passage).collect()
}

/// The page of a chunk, from its metadata.
pub(super) fn page(chunk: &RetrievedChunk) -> Option<u64> {
    let page = chunk.metadata.get("page")?;
    page.as_u64().or_else(|| page.as_str()?.parse().ok())
}

/// A passage of one chunk, whose place in the list of selected chunks is given.
pub(super) fn single(place: usize, chunk: RetrievedChunk) -> ChatPassage {
    ChatPassage { members: vec![member(place, &chunk)], chunk }
}

fn member(place: usize, chunk: &RetrievedChunk) -> Member {
    Member { place, ordinal: chunk.ordinal, node_id: chunk.node_id.clone(), vector: None }
}
