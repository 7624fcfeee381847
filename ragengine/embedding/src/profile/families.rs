//! Prefixes of well-known model families whose files do not name them.

/// A family's prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefixes {
    pub query: &'static str,
    pub passage: &'static str,
}

const NONE: Prefixes = Prefixes { query: "", passage: "" };

/// "Text Embeddings by Weakly-Supervised Contrastive Pre-training", arXiv 2212.03533, and its model cards.
const E5: Prefixes = Prefixes { query: "query: ", passage: "passage: " };

/// The instruction of the model card of `intfloat/multilingual-e5-large-instruct` for search.
const E5_INSTRUCT: Prefixes = Prefixes {
    query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
    passage: "",
};

/// The model card of `BAAI/bge-small-en-v1.5`.
const BGE_ENGLISH: Prefixes =
    Prefixes { query: "Represent this sentence for searching relevant passages: ", passage: "" };

/// Looks up the prefixes of a model family by the last part of `model_id`.
pub(super) fn prefixes(model_id: &str) -> Prefixes {
    let name = model_id.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let is_e5 = name.starts_with("e5-") || name.starts_with("multilingual-e5-");
    let is_bge_english = name.starts_with("bge-") && (name.ends_with("-en") || name.contains("-en-v1"));
    match (is_e5, is_bge_english) {
        (true, _) if name.contains("instruct") => E5_INSTRUCT,
        (true, _) => E5,
        (_, true) => BGE_ENGLISH,
        _ => NONE,
    }
}
