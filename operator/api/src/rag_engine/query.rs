use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{Condensing, ContextFormat, Diversity, Reranking, RetrievalMode};
use crate::descriptions::keep_descriptions;
use crate::rules::citations_need_numbers;

/// Stages of `/query`.
#[derive(KubeSchema, Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = keep_descriptions)]
#[x_kube(validation = citations_need_numbers("query", "(has(self.citations) && self.citations)"))]
pub struct QueryStages {
    /// Number of chunks that are searched for. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 300))]
    pub top_k: Option<u32>,
    /// Share of the context window that the chunks may fill, from 0.05 to 0.8. Default: 0.4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.05, max = 0.8))]
    pub context_ratio: Option<f64>,
    /// Share of the context window that is kept free for the answer, from 0.05 to 0.8. Default: 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.05, max = 0.8))]
    pub answer_ratio: Option<f64>,
    /// When the language model rewrites a question with the history: `never`, `followUp` (if it seems to continue the
    /// history), or `always` if there is a history. The rewritten question is searched for, and the language model gets
    /// it with the question as it was written. Default: `always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condense: Option<Condensing>,
    /// Whether the language model rewrites questions that `condense` does not, for the search. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reformulate: Option<bool>,
    /// Whether the acronyms of `rewrite.acronyms` are expanded. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acronyms: Option<bool>,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the question. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<bool>,
    /// How chunks are found: by vectors (`dense`), by words (`text`), or by both (`hybrid`, `rrf`). Default: `hybrid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalMode>,
    /// Whether votes on earlier answers raise and lower the scores of their chunks. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<bool>,
    /// Whether, of two chunks whose scores differ by less than 0.02, the newer one comes first. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recency: Option<bool>,
    /// When the 20 best chunks are put in order by the model of `rerank`: `never`, `conditional` (if their scores are
    /// close, or the question has one of the words in `rerank`), or `always`. Default: `conditional`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<Reranking>,
    /// What is done about chunks that say the same: nothing (`none`), only the best is used (`duplicates`), or chunks
    /// are chosen that are relevant and unlike each other (`mmr`). Default: `duplicates`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diversity: Option<Diversity>,
    /// Whether earlier questions of the caller and their answers are in the prompt. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions: Option<bool>,
    /// Form of the passages in the prompt: with numbers that the answer cites (`numbered`), or with their sources
    /// (`source`): the document's metadata `url`, else its `path`, else its id. Default: `numbered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_format: Option<ContextFormat>,
    /// Whether HTML in the answer becomes Markdown. Code is not changed. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postprocess: Option<bool>,
    /// Whether citations are checked: markers of unknown sources are removed, sources get consecutive numbers, and an
    /// answer without citations is replaced, see `citations`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<bool>,
    /// Whether an earlier answer to the same question is given again, see `cache`. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// Whether events are published, see `events`. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<bool>,
}
