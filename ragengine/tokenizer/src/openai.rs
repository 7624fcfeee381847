//! The encodings of OpenAI's models.
//!
//! The mapping from models to encodings is that of tiktoken's `model.py`. The crate `bpe-openai` provides the tables
//! and the pre-tokenisation, and counts as tiktoken does.

pub mod window;

/// One of OpenAI's encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// `cl100k_base`: GPT-3.5 and GPT-4.
    Cl100k,
    /// `o200k_base`: GPT-4o and later models.
    O200k,
    /// `o200k_harmony`: the open-weight gpt-oss. Plain text is encoded as with `o200k_base`.
    O200kHarmony,
}

/// Model families and their encodings.
const FAMILIES: [(&str, Encoding); 13] = [
    ("gpt-3.5", Encoding::Cl100k),
    // Azure's spelling.
    ("gpt-35", Encoding::Cl100k),
    ("gpt-4", Encoding::Cl100k),
    ("gpt-4o", Encoding::O200k),
    ("chatgpt-4o", Encoding::O200k),
    ("gpt-4.1", Encoding::O200k),
    ("gpt-4.5", Encoding::O200k),
    ("gpt-5", Encoding::O200k),
    ("o1", Encoding::O200k),
    ("o3", Encoding::O200k),
    ("o4", Encoding::O200k),
    ("codex-mini", Encoding::O200k),
    ("gpt-oss", Encoding::O200kHarmony),
];

/// The text that servers of gpt-oss put before the conversation and before the caller's instructions (OpenAI's harmony
/// format, as written by the model's chat template).
const HARMONY_SYSTEM: &str = "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n\
     Knowledge cutoff: 2024-06\nCurrent date: 2025-06-28\n\nReasoning: medium\n\n\
     # Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>\
     <|start|>developer<|message|># Instructions\n\n";

impl Encoding {
    /// The encoding of a model, by its name.
    pub fn of(model: &str) -> Option<Self> {
        let name = bare_name(model);
        FAMILIES.iter().find(|(family, _)| is_of_family(&name, family)).map(|(_, encoding)| *encoding)
    }

    /// tiktoken's name of the encoding that determines the count of a text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cl100k => "cl100k_base",
            Self::O200k | Self::O200kHarmony => "o200k_base",
        }
    }

    /// The number of tokens of a text. Special tokens in it count as plain text, as OpenAI's servers treat a caller's
    /// text.
    pub fn count(self, text: &str) -> u64 {
        let tokens = match self {
            Self::Cl100k => bpe_openai::cl100k_base().count(text),
            Self::O200k | Self::O200kHarmony => bpe_openai::o200k_base().count(text),
        };
        tokens as u64
    }

    /// The number of tokens that the server adds to every conversation, in addition to those around each message.
    pub fn tokens_before_messages(self) -> u64 {
        match self {
            Self::Cl100k | Self::O200k => 0,
            Self::O200kHarmony => self.count(HARMONY_SYSTEM),
        }
    }
}

/// The name without the prefix of a provider (`openai/`, `openrouter/openai/`) or of a fine-tuned model (`ft:`).
fn bare_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model).trim().to_ascii_lowercase();
    name.strip_prefix("ft:").map(str::to_owned).unwrap_or(name)
}

/// Whether `name` is the family's name, possibly with a suffix such as a size or a date. `gpt-4all` is not of the
/// family `gpt-4`. A minor version is of its family only for `gpt-5`, whose minor versions are all alike.
fn is_of_family(name: &str, family: &str) -> bool {
    let minor_versions_too = family == "gpt-5";
    name.strip_prefix(family).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['-', ':', '@']) || minor_versions_too && rest.starts_with('.')
    })
}

#[cfg(test)]
mod tests;
