use super::Work;
use crate::policy::fields::{Fields, Problem};

const DEFAULT_LIMIT: u64 = 4096;

/// An encoding of OpenAI's models.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Cl100k,
    O200k,
}

impl Encoding {
    /// Counts as tiktoken does.
    pub fn tokenizer(self) -> &'static bpe_openai::Tokenizer {
        match self {
            Self::Cl100k => bpe_openai::cl100k_base(),
            Self::O200k => bpe_openai::o200k_base(),
        }
    }
}

const ENCODINGS: [(&str, Encoding); 3] =
    [("cl100k_base", Encoding::Cl100k), ("o200k_base", Encoding::O200k), ("o200k_harmony", Encoding::O200k)];

/// Families of models, the more specific first. A name is of a family if it equals it or continues with `-`.
const FAMILIES: [(&str, Encoding); 17] = [
    ("gpt-4o", Encoding::O200k),
    ("chatgpt-4o", Encoding::O200k),
    ("gpt-4.1", Encoding::O200k),
    ("gpt-4.5", Encoding::O200k),
    ("gpt-5", Encoding::O200k),
    ("gpt-5.1", Encoding::O200k),
    ("gpt-5.2", Encoding::O200k),
    ("gpt-oss", Encoding::O200k),
    ("o1", Encoding::O200k),
    ("o3", Encoding::O200k),
    ("o4", Encoding::O200k),
    ("gpt-4", Encoding::Cl100k),
    ("gpt-3.5", Encoding::Cl100k),
    ("gpt-35", Encoding::Cl100k),
    ("text-embedding-3", Encoding::Cl100k),
    ("text-embedding-ada-002", Encoding::Cl100k),
    ("codex-mini", Encoding::O200k),
];

/// A limit of the number of tokens.
#[derive(Clone)]
pub(crate) struct TokenLimit {
    pub limit: usize,
    pub encoding: Encoding,
}

/// `token_limit`: `limit`, `encoding_name`, and `model_name` or `model`, which wins over the encoding.
pub(super) fn build(fields: &mut Fields) -> Result<Work, Problem> {
    let limit = fields.count("limit", DEFAULT_LIMIT)?;
    if limit == 0 {
        return Err(Problem::new("limit", "must be at least 1 token"));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let name = fields.choice("encoding_name", &ENCODINGS.map(|(name, _)| name), "cl100k_base")?;
    let mut encoding = ENCODINGS.iter().find(|(known, _)| *known == name).map_or(Encoding::Cl100k, |found| found.1);
    for field in ["model_name", "model"] {
        if let Some(model) = fields.text(field)? {
            encoding = of_model(&model).ok_or_else(|| {
                let known = FAMILIES.map(|(family, _)| family).join(", ");
                Problem::new(field, format!("is not a model whose encoding is known ({known}): write encoding_name"))
            })?;
        }
    }
    // The tables are loaded now, not while an answer waits.
    encoding.tokenizer();
    Ok(Work::Tokens(TokenLimit { limit, encoding }))
}

fn of_model(model: &str) -> Option<Encoding> {
    let name = model.rsplit('/').next().unwrap_or(model).trim().to_ascii_lowercase();
    let name = name.strip_prefix("ft:").unwrap_or(&name);
    let is_of =
        |family: &str| name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':']));
    FAMILIES.iter().find(|(family, _)| is_of(family)).map(|found| found.1)
}
