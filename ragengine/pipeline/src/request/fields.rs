use ragengine_json::{each_field, each_item};
use serde_json::value::RawValue;

use super::MAX_TOKENS_FIELDS;
use crate::Rejection;

/// The fields that the algorithm looks at.
const KNOWN: [&str; 13] = [
    "index_name",
    "context_token_ratio",
    "explain",
    "messages",
    "model",
    "models",
    "stream",
    "stream_options",
    "n",
    "max_completion_tokens",
    "max_tokens",
    "tools",
    "functions",
];

/// Models to ask one after the other.
const MAX_MODELS: usize = 100;

/// Those of a body, each as the text that was sent.
pub(super) struct Fields<'a>([Option<&'a RawValue>; KNOWN.len()]);

impl<'a> Fields<'a> {
    /// Reads a body. Of every other field nothing is kept.
    pub fn read(body: &'a [u8]) -> Result<Self, Rejection> {
        let text = std::str::from_utf8(body).map_err(|error| Rejection::Json(error.to_string()))?;
        let mut values = [None; KNOWN.len()];
        let mut twice = None;
        let read = each_field(text, |name, value| {
            let Some(place) = KNOWN.iter().position(|known| *known == name) else { return };
            if values[place].replace(value).is_some() {
                twice = Some(KNOWN[place]);
            }
        });
        match (read, twice) {
            (Err(error), _) if error.is_data() => Err(Rejection::wrong_type("body", "a JSON object")),
            (Err(error), _) => Err(Rejection::Json(error.to_string())),
            // Which one counts would be another one for the language model than here.
            (Ok(()), Some(name)) => Err(Rejection::wrong_type(name, "given once")),
            (Ok(()), None) => Ok(Self(values)),
        }
    }

    /// The field's value.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let place = KNOWN.iter().position(|known| *known == name)?;
        self.0[place]
    }

    /// The field's value, unless it is absent or null.
    pub fn present(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get() != "null")
    }

    pub fn string(&self, name: &str) -> Result<Option<String>, Rejection> {
        let read =
            |value: &RawValue| serde_json::from_str(value.get()).map_err(|_| Rejection::wrong_type(name, "a string"));
        self.present(name).map(read).transpose()
    }

    pub fn boolean(&self, name: &str) -> Result<bool, Rejection> {
        match self.present(name).map(RawValue::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Rejection::wrong_type(name, "true or false")),
        }
    }

    pub fn natural(&self, name: &str) -> Result<Option<u64>, Rejection> {
        let read = |value: &RawValue| match value.get().parse::<u64>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(Rejection::wrong_type(name, "a whole number of at least 1")),
        };
        self.present(name).map(read).transpose()
    }

    pub fn max_tokens(&self) -> Result<Option<u64>, Rejection> {
        let mut smallest = None;
        for field in MAX_TOKENS_FIELDS {
            smallest = [smallest, self.natural(field)?].into_iter().flatten().min();
        }
        Ok(smallest)
    }

    pub fn context_token_ratio(&self) -> Result<Option<f64>, Rejection> {
        let read = |value: &RawValue| match value.get().parse::<f64>() {
            Ok(ratio) if (0.2..=0.8).contains(&ratio) => Ok(ratio),
            Ok(_) => Err(Rejection::ContextTokenRatio(value.get().to_owned())),
            Err(_) => Err(Rejection::wrong_type("context_token_ratio", "a number between 0.2 and 0.8")),
        };
        self.present("context_token_ratio").map(read).transpose()
    }

    /// The strings in `models`.
    pub fn other_models(&self) -> Result<Vec<String>, Rejection> {
        let Some(list) = self.present("models").filter(|list| list.get().starts_with('[')) else {
            return Ok(Vec::new());
        };
        let mut models = Vec::new();
        each_item(&mut serde_json::Deserializer::from_str(list.get()), |item: &RawValue| match models.len() {
            MAX_MODELS => Err(serde::de::Error::custom("too many")),
            _ => {
                models.extend(serde_json::from_str::<String>(item.get()).ok());
                Ok(())
            }
        })
        .map_err(|_| Rejection::wrong_type("models", &format!("a list of at most {MAX_MODELS} models")))?;
        Ok(models)
    }

    pub fn include_usage(&self) -> bool {
        let mut wanted = false;
        if let Some(options) = self.present("stream_options") {
            // One that is no object is the upstream's to judge.
            drop(each_field(options.get(), |name, value| {
                if name == "include_usage" {
                    wanted = value.get() == "true";
                }
            }));
        }
        wanted
    }
}
