use serde::{Deserialize, Serialize};

use crate::ParseError;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Plain text, and source code in other languages than [`CodeLanguage`].
    Text,
    /// Markdown.
    Markdown,
    /// A web page.
    Html,
    /// A PDF file.
    Pdf,
    /// JSON Lines: one JSON object per line.
    JsonLines,
    /// A table with a header row and columns separated by commas or semicolons.
    Csv,
    /// A table with a header row and columns separated by tabs.
    Tsv,
    /// Source code in a language that the server can split.
    Code(CodeLanguage),
}

/// A language that the server splits at functions, blocks and statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeLanguage {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript.
    TypeScript,
}

impl CodeLanguage {
    /// Every language.
    pub const ALL: [Self; 8] =
        [Self::C, Self::Cpp, Self::Go, Self::Java, Self::JavaScript, Self::Python, Self::Rust, Self::TypeScript];

    /// The name of the language in the metadata field `language`.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Go => "go",
            Self::Java => "java",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
        }
    }

    /// The language of a file with this extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Self::Cpp,
            "go" => Self::Go,
            "java" => Self::Java,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "ts" | "mts" | "cts" => Self::TypeScript,
            _ => return None,
        })
    }
}

impl Format {
    /// Determines the format of a file from its content type and the extension of its path. `text/plain` and
    /// `application/octet-stream` are unspecific, so that the extension takes precedence over them.
    ///
    /// # Errors
    ///
    /// Neither is known.
    pub fn of(path: &str, content_type: Option<&str>) -> Result<Self, ParseError> {
        let media_type = content_type.map(media_type_of);
        media_type
            .as_deref()
            .and_then(of_media_type)
            .or_else(|| of_path(path))
            .or_else(|| (media_type.as_deref() == Some("text/plain")).then_some(Self::Text))
            .ok_or(ParseError::UnknownFormat)
    }

    /// Whether parsing builds a tree of the whole file in memory, so that it must run in a worker.
    pub(crate) fn needs_worker(self) -> bool {
        matches!(self, Self::Html | Self::Pdf)
    }
}

/// The `charset` of a content type: `text/html; charset=iso-8859-1`.
pub fn charset_of(content_type: &str) -> Option<&str> {
    content_type
        .split(';')
        .skip(1)
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches('"'))
}

fn media_type_of(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn of_media_type(media_type: &str) -> Option<Format> {
    Some(match media_type {
        "text/html" | "application/xhtml+xml" => Format::Html,
        "application/pdf" | "application/x-pdf" => Format::Pdf,
        "text/markdown" | "text/x-markdown" => Format::Markdown,
        "application/jsonl" | "application/x-jsonlines" | "application/x-ndjson" => Format::JsonLines,
        "text/csv" => Format::Csv,
        "text/tab-separated-values" => Format::Tsv,
        _ => return None,
    })
}

fn of_path(path: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    match name.rsplit_once('.') {
        Some((_, extension)) => of_extension(extension),
        None => of_name(&name),
    }
}

/// Files that usually have no extension.
fn of_name(name: &str) -> Option<Format> {
    let is_text = matches!(
        name,
        "authors"
            | "changelog"
            | "contributing"
            | "copying"
            | "dockerfile"
            | "license"
            | "makefile"
            | "notice"
            | "readme"
    );
    is_text.then_some(Format::Text)
}

fn of_extension(extension: &str) -> Option<Format> {
    Some(match extension {
        "txt" | "text" | "rst" | "adoc" | "asciidoc" | "org" | "tex" => Format::Text,
        "md" | "markdown" | "mdx" => Format::Markdown,
        "html" | "htm" | "xhtml" => Format::Html,
        "pdf" => Format::Pdf,
        "jsonl" | "ndjson" => Format::JsonLines,
        "csv" => Format::Csv,
        "tsv" | "tab" => Format::Tsv,
        "bash" | "bat" | "cfg" | "clj" | "cmake" | "conf" | "cs" | "css" | "dart" | "el" | "erl" | "ex" | "exs"
        | "fs" | "gradle" | "graphql" | "groovy" | "hcl" | "hs" | "ini" | "jl" | "kt" | "kts" | "lua" | "m" | "mk"
        | "ml" | "nix" | "php" | "pl" | "pm" | "properties" | "proto" | "ps1" | "r" | "rb" | "rego" | "scala"
        | "scss" | "sh" | "sql" | "svelte" | "swift" | "tf" | "tfvars" | "toml" | "tsx" | "vue" | "yaml" | "yml"
        | "zig" | "zsh" => Format::Text,
        _ => return CodeLanguage::of_extension(extension).map(Format::Code),
    })
}

#[cfg(test)]
mod tests;
