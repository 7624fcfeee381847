//! The list of packages.

use std::fmt::Write as _;

use serde::Deserialize;

/// The kind of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Continuous text: guides, explanations, rules.
    Prose,
    /// Reference documentation: settings, options, commands.
    Reference,
    /// Functions of programs.
    Code,
}

impl Kind {
    /// The name in ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Reference => "reference",
            Self::Code => "code",
        }
    }
}

/// Where a package comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Registry {
    /// The Python Package Index. The package is a source distribution.
    #[serde(rename = "PyPI")]
    PyPi,
    /// Rust's registry of crates.
    #[serde(rename = "crates.io")]
    CratesIo,
}

/// How a file is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// reStructuredText, by sections and paragraphs.
    Rst,
    /// Python, by functions.
    Python,
    /// Rust, by functions.
    Rust,
}

impl Format {
    /// The extension of its passages' files, which tells `ragengine ingest` how to split them.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Rst => "txt",
            Self::Python => "py",
            Self::Rust => "rs",
        }
    }
}

/// A package of the list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Where it comes from.
    pub registry: Registry,
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
    /// The name of its archive.
    pub file: String,
    /// The SHA-256 of its archive, in hex.
    pub sha256: String,
    /// Its licence, as an SPDX expression.
    pub licence: String,
    /// What is used of it.
    pub cuts: Vec<Cut>,
}

/// Files of a package that are cut into passages of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// The kind of its passages.
    pub kind: Kind,
    /// How its files are cut.
    pub format: Format,
    /// Files, and folders with a `/` at the end, of which all files are used.
    pub paths: Vec<String>,
}

impl Cut {
    /// Whether a file belongs to it.
    pub fn takes(&self, path: &str) -> bool {
        self.paths.iter().any(|own| path == own || (own.ends_with('/') && path.starts_with(own.as_str())))
    }
}

/// Reads the list of packages.
///
/// # Errors
///
/// When it is not valid.
pub fn parse(json: &str) -> Result<Vec<Package>, serde_json::Error> {
    serde_json::from_str(json)
}

/// The packages of PyPI as a list of requirements with hashes, for pip.
pub fn requirements(packages: &[Package]) -> String {
    packages.iter().filter(|package| package.registry == Registry::PyPi).fold(String::new(), |mut list, package| {
        let _ = writeln!(list, "{}=={} --hash=sha256:{}", package.name, package.version, package.sha256);
        list
    })
}

/// The crates as the manifest of an empty package that depends on them, for `cargo fetch`.
pub fn cargo_manifest(packages: &[Package]) -> String {
    let head = "[package]\nname = \"passages\"\nversion = \"0.0.0\"\n\n[lib]\npath = \"empty.rs\"\n\n[dependencies]\n";
    let crates = packages.iter().filter(|package| package.registry == Registry::CratesIo);
    // The empty table keeps cargo from looking for a workspace in the folders above.
    crates.fold(head.to_owned(), |mut list, package| {
        let _ = writeln!(list, "{} = \"={}\"", package.name, package.version);
        list
    }) + "\n[workspace]\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_packages_is_valid_and_names_a_licence_and_a_hash_for_each() {
        let packages = parse(include_str!("../../data/packages.json")).unwrap();
        for package in &packages {
            assert_eq!(package.sha256.len(), 64, "{}", package.name);
            assert!(!package.licence.is_empty() && package.file.contains(&package.version), "{}", package.name);
        }
        assert!(requirements(&packages).contains("Django=="));
        assert!(cargo_manifest(&packages).contains("textwrap = \"="));
    }

    #[test]
    fn a_cut_takes_its_files_and_all_files_of_its_folders() {
        let paths = vec!["docs/faq/".to_owned(), "docs/ref.txt".to_owned()];
        let cut = Cut { kind: Kind::Prose, format: Format::Rst, paths };
        let taken =
            ["docs/faq/help.txt", "docs/ref.txt", "docs/ref.txt.bak", "docs/faq.txt"].map(|path| cut.takes(path));
        assert_eq!(taken, [true, true, false, false]);
    }
}
