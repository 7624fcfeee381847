use ragengine_index::{Analyzer, TextKind};
use ragengine_settings::TextLanguage;
use ragengine_vector_database::{Chunk, ChunkPlace, Document};
use serde_json::json;

use crate::corpus;
use crate::vectors::{Clusters, FILTERS};

/// Makes documents of one chunk, as the server would.
pub struct Maker {
    clusters: Clusters,
    analyzer: Analyzer,
}

impl Maker {
    pub fn new() -> Self {
        Self { clusters: Clusters::new(), analyzer: Analyzer::new(TextLanguage::English) }
    }

    /// The document with this number, with a value for each filter.
    pub fn document(&mut self, number: usize) -> Document {
        let text = corpus::document(number);
        let tokens = self.analyzer.tokens_of_chunk(TextKind::Prose, &text);
        let terms: Vec<String> = tokens.into_iter().map(|token| token.text).collect();
        let hash = ragengine_client::content_hash(&text, &serde_json::Map::new());
        let chunk = Chunk {
            place: ChunkPlace { start: Some(0), end: Some(text.chars().count()), heading: None, page: None, hash },
            text: text.clone(),
            terms: terms.join(" "),
            vector: self.clusters.vector(number as u64),
        };
        Document {
            doc_id: number.to_string(),
            text,
            metadata: FILTERS.iter().map(|(key, of)| ((*key).to_owned(), json!(number % of))).collect(),
            source: None,
            content_hash: number.to_string(),
            revision: None,
            chunks: vec![chunk],
        }
    }
}
