//! Changes of the files in a source: a folder, a repository or a bucket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Changes that are made together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// New and changed files, by path.
    #[serde(default)]
    pub put: BTreeMap<String, Content>,
    /// The paths of files to remove. They do not have to exist.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A text.
    Text(String),
    /// Bytes, in Base64.
    Base64(String),
    /// A line that is repeated up to a size.
    Repeated {
        /// The line, with its line ending.
        line: String,
        /// The size in bytes.
        bytes: usize,
    },
    /// A symbolic link to this path.
    Link(String),
    /// A submodule at this commit. Only for repositories.
    Submodule(String),
}

impl Changes {
    /// Creates changes with these new or changed texts.
    pub fn texts<P: Into<String>, T: Into<String>>(texts: impl IntoIterator<Item = (P, T)>) -> Self {
        let put = texts.into_iter().map(|(path, text)| (path.into(), Content::Text(text.into())));
        Self { put: put.collect(), remove: Vec::new() }
    }

    /// Adds files to remove.
    #[must_use]
    pub fn and_remove(mut self, paths: &[&str]) -> Self {
        self.remove.extend(paths.iter().map(|path| (*path).to_owned()));
        self
    }

    /// Adds a new or changed file.
    #[must_use]
    pub fn and_put(mut self, path: &str, content: Content) -> Self {
        self.put.insert(path.to_owned(), content);
        self
    }
}
