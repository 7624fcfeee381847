//! The used fields of the configuration files.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Pooling;

/// The parsed files. A missing file is `None`, or an empty list of modules.
#[derive(Debug, Clone, Default)]
pub struct ConfigFiles {
    /// `config.json`.
    pub transformer: Option<TransformerConfig>,
    /// `sentence_bert_config.json`.
    pub sentence_bert: Option<SentenceBertConfig>,
    /// `1_Pooling/config.json`.
    pub pooling: Option<PoolingConfig>,
    /// `modules.json`.
    pub modules: Vec<Module>,
    /// `config_sentence_transformers.json`.
    pub sentence_transformers: Option<SentenceTransformersConfig>,
}

/// The fields of `config.json`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct TransformerConfig {
    /// `bert`, `roberta` …
    pub model_type: Option<String>,
    /// The number of rows in the table of positions.
    pub max_position_embeddings: Option<usize>,
}

impl TransformerConfig {
    /// The maximum number of tokens that have positions.
    ///
    /// Models of the RoBERTa family begin counting after the padding id 1, so that two rows are unused.
    pub(super) fn usable_positions(&self) -> Option<usize> {
        const OFFSET_KINDS: [&str; 5] = ["roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet"];
        let positions = self.max_position_embeddings?;
        let kind = self.model_type.as_deref().unwrap_or_default();
        let unused = if OFFSET_KINDS.contains(&kind) { 2 } else { 0 };
        Some(positions.saturating_sub(unused))
    }
}

/// The fields of `sentence_bert_config.json`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SentenceBertConfig {
    /// Maximum text size in tokens, including special tokens.
    pub max_seq_length: Option<usize>,
}

/// The fields of `1_Pooling/config.json`: a flag for each method, or (since Sentence Transformers 5.2) the name of one.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct PoolingConfig {
    /// The newer form: `mean`, `cls` …
    pub pooling_mode: Option<String>,
    /// First token.
    #[serde(default)]
    pub pooling_mode_cls_token: bool,
    /// Mean.
    #[serde(default)]
    pub pooling_mode_mean_tokens: bool,
    /// Maximum of each dimension.
    #[serde(default)]
    pub pooling_mode_max_tokens: bool,
    /// Mean times the square root of the length.
    #[serde(default)]
    pub pooling_mode_mean_sqrt_len_tokens: bool,
    /// Mean weighted by position.
    #[serde(default)]
    pub pooling_mode_weightedmean_tokens: bool,
    /// Last token.
    #[serde(default)]
    pub pooling_mode_lasttoken: bool,
}

impl PoolingConfig {
    /// The configured method, or a description of the unsupported combination as error.
    pub(super) fn pooling(&self) -> Result<Pooling, String> {
        let flags = [
            (self.pooling_mode_cls_token, "cls"),
            (self.pooling_mode_mean_tokens, "mean"),
            (self.pooling_mode_max_tokens, "max"),
            (self.pooling_mode_mean_sqrt_len_tokens, "mean_sqrt_len_tokens"),
            (self.pooling_mode_weightedmean_tokens, "weightedmean"),
            (self.pooling_mode_lasttoken, "lasttoken"),
        ];
        let flagged: Vec<&str> = flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        let named = self.pooling_mode.clone().unwrap_or_else(|| flagged.join("+"));
        match named.as_str() {
            "cls" => Ok(Pooling::Cls),
            "mean" | "mean_sqrt_len_tokens" => Ok(Pooling::Mean),
            "max" => Ok(Pooling::Max),
            "lasttoken" => Ok(Pooling::LastToken),
            "" => Err("(none)".to_owned()),
            other => Err(other.to_owned()),
        }
    }
}

/// One entry of `modules.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Module {
    /// The Python class: `sentence_transformers.models.Pooling`.
    #[serde(rename = "type")]
    pub kind: String,
}

impl Module {
    /// The name of the class without its package.
    pub(super) fn class_name(&self) -> &str {
        self.kind.rsplit('.').next().unwrap_or(&self.kind)
    }
}

/// The fields of `config_sentence_transformers.json`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SentenceTransformersConfig {
    /// Prefixes by name: `query`, `document`, `passage`.
    #[serde(default)]
    pub prompts: BTreeMap<String, Option<String>>,
}
