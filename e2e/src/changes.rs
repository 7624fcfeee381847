//! What a test changes in a source, whatever kind of source it is: the files of a folder, of a repository, of a bucket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Changes that come together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// What is there from now on, by its path.
    #[serde(default)]
    pub put: BTreeMap<String, Content>,
    /// The paths of files that go. Those that are not there already are gone too.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A text.
    Text(String),
    /// Bytes, in Base64.
    Base64(String),
    /// One line over and over, until there are so many bytes.
    Repeated {
        /// The line, with its end.
        line: String,
        /// How many bytes.
        bytes: usize,
    },
    /// A symbolic link to this path.
    Link(String),
    /// Another repository at this commit. Of repositories only.
    Submodule(String),
}

impl Changes {
    /// New and changed texts.
    pub fn texts<P: Into<String>, T: Into<String>>(texts: impl IntoIterator<Item = (P, T)>) -> Self {
        let put = texts.into_iter().map(|(path, text)| (path.into(), Content::Text(text.into())));
        Self { put: put.collect(), remove: Vec::new() }
    }

    /// The same, and these go.
    #[must_use]
    pub fn and_remove(mut self, paths: &[&str]) -> Self {
        self.remove.extend(paths.iter().map(|path| (*path).to_owned()));
        self
    }

    /// The same, and this is there too.
    #[must_use]
    pub fn and_put(mut self, path: &str, content: Content) -> Self {
        self.put.insert(path.to_owned(), content);
        self
    }
}
