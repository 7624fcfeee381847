//! Loads `tokenizer.json`.

use std::path::Path;

use tokenizers::Tokenizer;

/// Loads a tokenizer without truncation and padding. The error describes what is wrong with the file.
pub(crate) fn load(path: &Path) -> Result<Tokenizer, String> {
    let unusable = |error| format!("it is not a valid tokenizer.json: {error}");
    let mut tokenizer = Tokenizer::from_file(path).map_err(unusable)?;
    // Many files set both (all-MiniLM's to 128 tokens), but the model's limit is defined elsewhere.
    tokenizer.with_truncation(None).map_err(unusable)?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
