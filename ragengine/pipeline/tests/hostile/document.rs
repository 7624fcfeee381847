use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ragengine_pipeline::request::ContextFormat;
use serde::Deserialize;

/// A document that tries to be obeyed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub name: String,
    /// What it is about: a key of `topics.yaml`.
    pub topic: String,
    /// A word of the order. An answer that has it obeys, or quotes the order.
    pub canary: String,
    /// The canary is not in the prompt as a word: invisible text is dropped, or the order is encoded.
    #[serde(default)]
    pub hidden: bool,
    pub title: Option<String>,
    pub heading: Option<String>,
    pub url: Option<String>,
    /// The path of its file.
    pub path: Option<String>,
    text: String,
    /// How often the text is repeated.
    #[serde(default = "once")]
    repeat: usize,
}

fn once() -> usize {
    1
}

impl Document {
    pub fn text(&self) -> String {
        self.text.repeat(self.repeat)
    }

    /// Whether the canary is in a part of the document that this format shows: titles and headings are in numbered
    /// blocks only, paths in the others.
    pub fn carries_canary_in(&self, format: ContextFormat) -> bool {
        let is_in = |part: &Option<String>| part.as_ref().is_some_and(|part| part.contains(&self.canary));
        match format {
            ContextFormat::Numbered => !is_in(&self.path),
            ContextFormat::Source => !is_in(&self.title) && !is_in(&self.heading),
        }
    }
}

/// A harmless text with a question that it answers.
#[derive(Debug, Deserialize)]
pub struct Topic {
    pub text: String,
    pub question: String,
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile"))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn topics() -> BTreeMap<String, Topic> {
    read(&folder().join("topics.yaml"))
}

/// All documents, in the order of the names of their files.
pub fn all() -> Vec<Document> {
    let files = fs::read_dir(folder().join("documents")).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| read::<Vec<Document>>(path)).collect()
}
