use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The language of texts in full-text search: its words are reduced to their stems, and its stop words are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextLanguage {
    /// Words are searched as they are written.
    None,
    /// Arabic, without stop words.
    Arabic,
    /// Danish.
    Danish,
    /// Dutch.
    Dutch,
    /// English.
    #[default]
    English,
    /// Finnish.
    Finnish,
    /// French.
    French,
    /// German.
    German,
    /// Greek, without stop words.
    Greek,
    /// Hungarian.
    Hungarian,
    /// Italian.
    Italian,
    /// Norwegian.
    Norwegian,
    /// Portuguese.
    Portuguese,
    /// Romanian, without stop words.
    Romanian,
    /// Russian.
    Russian,
    /// Spanish.
    Spanish,
    /// Swedish.
    Swedish,
    /// Tamil, without stop words.
    Tamil,
    /// Turkish, without stop words.
    Turkish,
}

impl TextLanguage {
    /// All languages.
    pub const ALL: [Self; 19] = [
        Self::None,
        Self::Arabic,
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Greek,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
        Self::Tamil,
        Self::Turkish,
    ];
}

impl fmt::Display for TextLanguage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", format!("{self:?}").to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_displayed_as_it_is_written_in_the_settings() {
        for language in TextLanguage::ALL {
            assert_eq!(serde_json::to_value(language).unwrap(), language.to_string());
        }
    }
}
