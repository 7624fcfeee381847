use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChatStages, QueryStages};
use crate::descriptions::keep_descriptions;
use crate::rules::citations_need_numbers;

/// Which stages of the pipeline each endpoint of the server has. A request can choose otherwise with `pipeline`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoints {
    /// Stages of `/v1/chat/completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<PipelineStages>,
    /// Stages of `/retrieve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieve: Option<RetrieveStages>,
    /// Stages of `/query`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<QueryStages>,
    /// Stages of `/chat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatStages>,
}

/// Stages of an endpoint for chats.
#[derive(KubeSchema, Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = keep_descriptions)]
#[x_kube(validation = citations_need_numbers("completions", "(has(self.citations) && self.citations)"))]
pub struct PipelineStages {
    /// When the language model rewrites a question with the history for the search: `never`, `followUp` (if it seems to
    /// continue the history), or `always` if there is a history. Default: `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condense: Option<Condensing>,
    /// Whether the language model rewrites questions that `condense` does not, for the search. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reformulate: Option<bool>,
    /// Whether the acronyms of `rewrite.acronyms` are expanded. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acronyms: Option<bool>,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the question. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<bool>,
    /// How chunks are found: by vectors (`dense`), by words (`text`), or by both (`hybrid`, `rrf`). Default: `dense`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalMode>,
    /// Whether votes on earlier answers raise and lower the scores of their chunks. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<bool>,
    /// Whether, of two chunks whose scores differ by less than 0.02, the newer one comes first. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recency: Option<bool>,
    /// When the 20 best chunks are put in order by the model of `rerank`: `never`, `conditional` (if their scores are
    /// close, or the question has one of the words in `rerank`), or `always`. Default: `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<Reranking>,
    /// What is done about chunks that say the same: nothing (`none`), only the best is used (`duplicates`), or chunks
    /// are chosen that are relevant and unlike each other (`mmr`). Default: `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diversity: Option<Diversity>,
    /// Whether earlier questions of the caller and their answers are in the prompt. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions: Option<bool>,
    /// Form of the passages in the prompt: with numbers that the answer cites (`numbered`), or with their sources
    /// (`source`): the document's metadata `url`, else its `path`, else its id. Default: `numbered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_format: Option<ContextFormat>,
    /// Whether HTML in the answer becomes Markdown. Code is not changed. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postprocess: Option<bool>,
    /// Whether citations are checked: markers of unknown sources are removed, sources get consecutive numbers, and an
    /// answer without citations is replaced, see `citations`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<bool>,
}

/// Stages of `/retrieve`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = keep_descriptions)]
pub struct RetrieveStages {
    /// Whether the acronyms of `rewrite.acronyms` are expanded. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acronyms: Option<bool>,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the query. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<bool>,
    /// How chunks are found: by vectors (`dense`), by words (`text`), or by both (`hybrid`, `rrf`). Default: `hybrid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalMode>,
}

/// When the language model rewrites a question with the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Condensing {
    /// Never.
    Never,
    /// If it seems to continue the history.
    FollowUp,
    /// Whenever there is a history.
    Always,
}

/// When the best chunks are put in order by a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reranking {
    /// Never.
    Never,
    /// If the search may have the wrong order.
    Conditional,
    /// For every question.
    Always,
}

/// How chunks are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RetrievalMode {
    /// By vectors.
    Dense,
    /// By words.
    Text,
    /// By both, with weights.
    Hybrid,
    /// By both, with reciprocal ranks.
    Rrf,
}

/// Form of the passages in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextFormat {
    /// With numbers.
    Numbered,
    /// With their sources.
    Source,
}

/// What is done about chunks that say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Diversity {
    /// Nothing.
    None,
    /// Only the best of near-identical chunks is used.
    Duplicates,
    /// Chunks are relevant and unlike each other.
    Mmr,
}
