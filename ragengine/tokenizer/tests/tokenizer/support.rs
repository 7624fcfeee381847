//! Creates folders with the files of a model.

use std::path::{Path, PathBuf};

use ragengine_tokenizer::Tokenizer;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

/// ChatML without a default system message.
pub const CHATML: &str = "{% for message in messages %}\
     {{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}\
     {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// The real tokenizer that `make setup` downloads.
pub fn real_folder() -> PathBuf {
    let cache = std::env::var_os("RAGENGINE_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/ragengine"));
    cache.join("models/sentence-transformers/all-MiniLM-L6-v2")
}

pub fn real() -> Tokenizer {
    Tokenizer::from_path(&real_folder()).unwrap_or_else(|error| panic!("run `make setup`: {error}"))
}

/// A tokenizer.json with one token for every byte and for each of `special`.
pub fn byte_tokenizer(special: &[&str]) -> Value {
    let mut letters: Vec<char> = ByteLevel::alphabet().into_iter().collect();
    letters.sort_unstable();
    let vocabulary: Map<String, Value> =
        letters.iter().enumerate().map(|(id, letter)| (letter.to_string(), json!(id))).collect();
    let added = special.iter().enumerate().map(|(place, content)| {
        json!({
            "id": letters.len() + place, "content": content, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false
        })
    });
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "added_tokens": added.collect::<Vec<_>>(),
        "pre_tokenizer": bytes, "post_processor": null, "decoder": bytes,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []}
    })
}

/// Creates a folder with these files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// A byte tokenizer with the markers of ChatML and this template.
pub fn with_template(template: &str) -> Tokenizer {
    let tokenizer = byte_tokenizer(&["<|im_start|>", "<|im_end|>", "<s>"]).to_string();
    let folder = folder(&[("tokenizer.json", &tokenizer), ("chat_template.jinja", template)]);
    load(folder.path())
}

pub fn load(path: &Path) -> Tokenizer {
    Tokenizer::from_path(path).unwrap_or_else(|error| panic!("{error}"))
}
