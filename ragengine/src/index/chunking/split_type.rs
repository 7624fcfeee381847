use ragengine_client::wire::Metadata;
use serde_json::Value;
use tree_sitter_language::LanguageFn;

/// How a document is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitType {
    /// At paragraphs and sentences.
    Prose,
    /// At headings, paragraphs and list items.
    Markdown,
    /// At functions, blocks and statements.
    Code(Language),
    /// At form feeds, which end pages, and within a page as prose.
    Pages,
}

impl SplitType {
    /// What a document's metadata asks for in `split_type` and `language`.
    ///
    /// # Errors
    ///
    /// In words, when they name nothing that is known.
    pub fn of(metadata: &Metadata) -> Result<Self, String> {
        match metadata.get("split_type") {
            None | Some(Value::Null) => Ok(Self::Prose),
            Some(Value::String(name)) => match name.as_str() {
                "default" | "sentence" | "text" => Ok(Self::Prose),
                "markdown" => Ok(Self::Markdown),
                "code" => Language::of(metadata).map(Self::Code),
                "pages" => Ok(Self::Pages),
                other => Err(format!("its split_type '{other}' is not known: use default, markdown, code or pages")),
            },
            Some(_) => Err("its split_type must be a string: default, markdown, code or pages".to_owned()),
        }
    }
}

/// A programming language whose syntax is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
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

impl Language {
    /// Every language.
    pub const ALL: [Self; 8] =
        [Self::C, Self::Cpp, Self::Go, Self::Java, Self::JavaScript, Self::Python, Self::Rust, Self::TypeScript];

    /// Its name in metadata.
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

    pub(super) fn grammar(self) -> LanguageFn {
        match self {
            Self::C => tree_sitter_c::LANGUAGE,
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        }
    }

    fn of(metadata: &Metadata) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        let Some(given) = metadata.get("language").and_then(Value::as_str) else {
            return Err(format!("split_type code needs a language in the metadata: one of {names}"));
        };
        let lower = given.to_ascii_lowercase();
        let is_alias = |language: &Self| language.name() == lower || (*language == Self::Cpp && lower == "c++");
        Self::ALL
            .into_iter()
            .find(is_alias)
            .ok_or_else(|| format!("its language '{given}' is not known: use one of {names}"))
    }
}
