//! Cuts freely licensed packages into the passages that the questions are about.
//!
//! ```text
//! manifest ── the packages, with version, hash, licence and the paths to use
//! archive ── verifies a package and reads its files
//! markup, sections, pack ── cut reStructuredText: remove markup, find sections, fill passages with paragraphs
//! functions, python, rust ── cut code: find functions of the right size
//! length ── leaves out what does not fit into one chunk
//! ```
//!
//! The same packages always give the same passages. A passage's id has a hash of its text, so a question never points
//! to another text than the one it was written for.

mod archive;
mod functions;
mod length;
pub mod manifest;
mod markup;
mod pack;
mod python;
mod rust;
mod sections;

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use self::manifest::{Format, Kind, Package};

pub use archive::{ArchiveError, read};

/// The source under which the passages are stored, and so the start of their document ids.
pub const SOURCE: &str = "passages";

/// A passage: one document that fits into one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The kind of text.
    pub kind: Kind,
    /// The path of its file below the folder of passages.
    pub path: String,
    /// The text.
    pub text: String,
}

impl Passage {
    /// The id of its document.
    pub fn doc_id(&self) -> String {
        format!("{SOURCE}/{}", self.path)
    }
}

/// Cuts the files of a package, by path, into passages. The order is that of their ids. A repeated text counts once.
pub fn cut(package: &Package, files: &BTreeMap<String, String>) -> Vec<Passage> {
    let mut passages = BTreeMap::new();
    for cut in &package.cuts {
        for (path, text) in files.iter().filter(|(path, _)| cut.takes(path)) {
            let pieces = match cut.format {
                Format::Rst => pack::pack(&sections::sections(text)),
                Format::Python => python::cut(path, text),
                Format::Rust => rust::cut(path, text),
            };
            for text in pieces.into_iter().filter(|text| length::fits(text)) {
                let path = passage_path(cut.kind, package, cut.format, path, &text);
                passages.insert(path.clone(), Passage { kind: cut.kind, path, text });
            }
        }
    }
    passages.into_values().collect()
}

fn passage_path(kind: Kind, package: &Package, format: Format, path: &str, text: &str) -> String {
    let hash = hex::encode(Sha256::digest(text));
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem).replace('/', "-");
    let short = hash.get(..8).unwrap_or_default();
    format!("{}/{}/{stem}-{short}.{}", kind.name(), package.name.to_lowercase(), format.extension())
}
