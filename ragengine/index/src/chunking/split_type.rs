use ragengine_client::wire::Metadata;
pub use ragengine_parsers::CodeLanguage as Language;
use serde_json::Value;
use tree_sitter_language::LanguageFn;

/// How a document is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitType {
    /// At paragraphs and sentences.
    Prose,
    /// At headings, paragraphs and list items.
    Markdown,
    /// At functions, blocks and statements.
    Code(Language),
    /// At form feeds, which separate pages, and within a page as prose.
    Pages,
}

impl SplitType {
    /// Reads the split type from the fields `split_type` and `language` of a document's metadata.
    ///
    /// # Errors
    ///
    /// A message for the user if a value is unknown.
    pub fn of(metadata: &Metadata) -> Result<Self, String> {
        match metadata.get("split_type") {
            None | Some(Value::Null) => Ok(Self::Prose),
            Some(Value::String(name)) => match name.as_str() {
                "default" | "sentence" | "text" => Ok(Self::Prose),
                "markdown" => Ok(Self::Markdown),
                "code" => language_of(metadata).map(Self::Code),
                "pages" => Ok(Self::Pages),
                other => Err(format!("its split_type '{other}' is unknown: use default, markdown, code or pages")),
            },
            Some(_) => Err("its split_type must be a string: default, markdown, code or pages".to_owned()),
        }
    }
}

/// The tree-sitter grammar of a language.
pub(super) fn grammar(language: Language) -> LanguageFn {
    match language {
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Cpp => tree_sitter_cpp::LANGUAGE,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Java => tree_sitter_java::LANGUAGE,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
    }
}

fn language_of(metadata: &Metadata) -> Result<Language, String> {
    let names = Language::ALL.map(Language::name).join(", ");
    let Some(given) = metadata.get("language").and_then(Value::as_str) else {
        return Err(format!("split_type code needs a language in the metadata: one of {names}"));
    };
    let lower = given.to_ascii_lowercase();
    let is_alias = |language: &Language| language.name() == lower || (*language == Language::Cpp && lower == "c++");
    Language::ALL
        .into_iter()
        .find(is_alias)
        .ok_or_else(|| format!("its language '{given}' is unknown: use one of {names}"))
}
