use std::collections::BTreeMap;

use ragengine_pipeline::request::{Condensing, ContextFormat, Diversity, Reranking, RetrievalMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which stages of the pipeline each endpoint has. A request can choose otherwise with its field `pipeline`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Endpoints {
    /// `/v1/chat/completions`.
    pub completions: CompletionsEndpoint,
    /// `/retrieve`.
    pub retrieve: RetrieveEndpoint,
    /// `/query`.
    pub query: QueryEndpoint,
    /// `/chat`.
    pub chat: ChatEndpoint,
}

/// The stages of `/v1/chat/completions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CompletionsEndpoint {
    /// When the language model rewrites a question with the history, so that the search understands it: `never`,
    /// `followUp` (if it is short, continues a sentence or has a pronoun such as *it*), or `always` if there is a
    /// history. The answer is to the question as it was written.
    pub condense: Condensing,
    /// Whether the language model rewrites questions that `condense` does not, for the search: it corrects the spelling
    /// and drops fillers.
    pub reformulate: bool,
    /// Whether the acronyms of `rewrite.acronyms` are expanded in the question that is searched for.
    pub acronyms: bool,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the question.
    pub filter_rules: bool,
    /// How chunks are found: by vectors (`dense`), by words (`text`), or by both (`hybrid`, or `rrf` for reciprocal
    /// rank fusion). By words, chunks can be found that no vector is near; they still need to be within
    /// `retrieval.maxDistance`.
    pub retrieval: RetrievalMode,
    /// Whether votes on earlier answers raise and lower the scores of their chunks, see `feedback`. It changes the order
    /// of chunks, and never what `retrieval.maxDistance` decides.
    pub feedback: bool,
    /// Whether, of two chunks whose scores differ by less than 0.02, the newer one comes first. A document's date is
    /// its metadata `date`, else the date or year in its metadata `path` or in its id.
    pub recency: bool,
    /// When the 20 best chunks are put in order by a model, see `rerank`: `never`, `conditional` (if their scores are
    /// close, or the question has one of the words in `rerank`), or `always`.
    pub rerank: Reranking,
    /// What is done about chunks that say the same: nothing (`none`), only the best of near-identical chunks is used
    /// (`duplicates`), or chunks are chosen that are relevant and unlike each other (`mmr`). Unless it is `none`,
    /// neighbouring chunks of a document become one passage in the prompt.
    pub diversity: Diversity,
    /// Whether earlier questions of the caller and their answers are in the prompt, see `interactions`.
    pub interactions: bool,
    /// The form of the passages in the prompt: with numbers that the answer cites (`numbered`), or with their sources
    /// (`source`): the document's metadata `url`, else its `path`, else its id.
    pub context_format: ContextFormat,
    /// Whether HTML in the answer becomes Markdown: entities are decoded and other tags removed. Code is not changed.
    pub postprocess: bool,
    /// Whether citations are checked: markers of unknown sources are removed, sources get consecutive numbers, and an
    /// answer without citations is rejected, see `citations`.
    pub citations: bool,
}

/// The stages of `/retrieve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RetrieveEndpoint {
    /// Whether the acronyms of `rewrite.acronyms` are expanded in the query.
    pub acronyms: bool,
    /// Whether a filter of `retrieval.filterRules` is chosen by the words of the query.
    pub filter_rules: bool,
    /// How chunks are found: by vectors (`dense`), by words (`text`), or by both (`hybrid`, or `rrf` for reciprocal
    /// rank fusion).
    pub retrieval: RetrievalMode,
}

impl Default for RetrieveEndpoint {
    fn default() -> Self {
        Self { acronyms: true, filter_rules: false, retrieval: RetrievalMode::Hybrid }
    }
}

/// The stages of `/query`. A field without a description is as for `/v1/chat/completions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QueryEndpoint {
    /// The number of chunks that are looked for. 1 to 300.
    pub top_k: u32,
    /// The share of the context window that the chunks may use, 0.05 to 0.8.
    pub context_ratio: f64,
    /// The share of the context window that is kept free for the answer, 0.05 to 0.8.
    pub answer_ratio: f64,
    /// When the language model rewrites a question with the history. The rewritten question is searched for, and the
    /// language model gets it with the question as it was written.
    pub condense: Condensing,
    /// Whether the language model rewrites questions for the search that are not rewritten with the history.
    pub reformulate: bool,
    /// Whether acronyms are expanded.
    pub acronyms: bool,
    /// Whether a filter is chosen by the words of the question.
    pub filter_rules: bool,
    /// How chunks are found.
    pub retrieval: RetrievalMode,
    /// Whether votes on earlier answers change the order of chunks.
    pub feedback: bool,
    /// Whether the newer of similar chunks comes first.
    pub recency: bool,
    /// When the best chunks are put in order by a model.
    pub rerank: Reranking,
    /// What is done about chunks that say the same.
    pub diversity: Diversity,
    /// Whether earlier questions of the caller and their answers are in the prompt.
    pub interactions: bool,
    /// The form of the passages in the prompt.
    pub context_format: ContextFormat,
    /// Whether HTML in the answer becomes Markdown.
    pub postprocess: bool,
    /// Whether citations are checked.
    pub citations: bool,
    /// Whether an earlier answer to the same question is given again, see `cache`.
    pub cache: bool,
    /// Whether events are published, see `events`.
    pub events: bool,
}

impl Default for QueryEndpoint {
    fn default() -> Self {
        Self {
            top_k: 10,
            context_ratio: 0.4,
            answer_ratio: 0.1,
            condense: Condensing::Always,
            reformulate: false,
            acronyms: true,
            filter_rules: true,
            retrieval: RetrievalMode::Hybrid,
            feedback: true,
            recency: true,
            rerank: Reranking::Conditional,
            diversity: Diversity::Duplicates,
            interactions: false,
            context_format: ContextFormat::Numbered,
            postprocess: true,
            citations: false,
            cache: true,
            events: true,
        }
    }
}

/// The stages of `/chat`. A field without a description is as for `/v1/chat/completions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ChatEndpoint {
    /// The number of chunks that are looked for, for requests without `top_k`. 1 to 300.
    pub top_k: u32,
    /// The maximum tokens of the chunks in the prompt. A chunk that does not fit is cut after a sentence. At least 100.
    pub max_context_tokens: u32,
    /// The sampling temperature of the language model, 0 to 2.
    pub temperature: f64,
    /// The maximum tokens of an answer.
    pub max_tokens: u32,
    /// When the language model rewrites a question with the history. The rewritten question is searched for, and the
    /// language model gets it with the question as it was written.
    pub condense: Condensing,
    /// Whether the language model rewrites questions for the search that are not rewritten with the history.
    pub reformulate: bool,
    /// Whether acronyms are expanded.
    pub acronyms: bool,
    /// Whether a filter is chosen by the words of the question.
    pub filter_rules: bool,
    /// How chunks are found.
    pub retrieval: RetrievalMode,
    /// Whether votes on earlier answers change the order of chunks.
    pub feedback: bool,
    /// Whether the newer of similar chunks comes first.
    pub recency: bool,
    /// When the best chunks are put in order by a model.
    pub rerank: Reranking,
    /// What is done about chunks that say the same.
    pub diversity: Diversity,
    /// Whether earlier questions of the caller and their answers are in the prompt.
    pub interactions: bool,
    /// The form of the passages in the prompt.
    pub context_format: ContextFormat,
    /// Whether HTML in the answer becomes Markdown.
    pub postprocess: bool,
    /// Whether citations are checked.
    pub citations: bool,
    /// Whether an earlier answer to the same question is given again, see `cache`.
    pub cache: bool,
    /// Whether events are published, see `events`.
    pub events: bool,
    /// The models that a request may name in `model_id`. Empty: all that the language model's endpoint lists.
    pub models: Vec<String>,
    /// The model of callers, by principal, such as `user:ann: openai/gpt-4o`, for requests that name none.
    pub model_by_caller: BTreeMap<String, String>,
}

impl Default for ChatEndpoint {
    fn default() -> Self {
        Self {
            top_k: 8,
            max_context_tokens: 3_500,
            temperature: 0.4,
            max_tokens: 1_200,
            condense: Condensing::FollowUp,
            reformulate: true,
            acronyms: true,
            filter_rules: true,
            retrieval: RetrievalMode::Hybrid,
            feedback: true,
            recency: true,
            rerank: Reranking::Conditional,
            diversity: Diversity::Duplicates,
            interactions: false,
            context_format: ContextFormat::Numbered,
            postprocess: true,
            citations: true,
            cache: true,
            events: true,
            models: Vec::new(),
            model_by_caller: BTreeMap::new(),
        }
    }
}
