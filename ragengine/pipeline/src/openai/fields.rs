use ragengine_json::{each_field, each_item};
use serde_json::value::RawValue;

use crate::Rejection;
use crate::chat_body::MAX_TOKENS_FIELDS;
use crate::filter::Filter;
use crate::request::{ChatMode, StageChoices};

/// The fields that the server uses.
const KNOWN: [&str; 18] = [
    "index_name",
    "context_token_ratio",
    "metadata_filter",
    "pipeline",
    "chat_mode",
    "citations",
    "rag_with_tools",
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

/// The most models in one request. A router tries them one after the other.
const MAX_MODELS: usize = 100;

/// The most characters of the reason in an error.
const MAX_REASON_CHARACTERS: usize = 300;

/// The longest provider or category, in bytes.
const MAX_CATEGORY_BYTES: usize = 200;

/// The longest name in bytes of JSON, such as the name of a model. Names are stored in addition to the body.
const MAX_NAME_BYTES: usize = 1000;

/// The known fields of a body, each as the original JSON text.
pub(super) struct Fields<'a> {
    known: [Option<&'a RawValue>; KNOWN.len()],
    /// The values of fields that some endpoints read as `model` or `models`, because they ignore case in names.
    alike: Vec<&'a RawValue>,
}

impl<'a> Fields<'a> {
    /// Parses a body. Unknown fields are skipped.
    pub fn read(body: &'a [u8]) -> Result<Self, Rejection> {
        let text = std::str::from_utf8(body).map_err(|error| Rejection::Json(error.to_string()))?;
        let (mut known, mut alike, mut twice) = ([None; KNOWN.len()], Vec::new(), None);
        let read = each_field(text, |name, value| match KNOWN.iter().position(|known| *known == name) {
            Some(place) if known[place].replace(value).is_some() => twice = Some(KNOWN[place]),
            None if alike.len() <= MAX_MODELS && is_like_model(&name) => alike.push(value),
            _ => {}
        });
        match (read, twice) {
            (Err(error), _) if error.is_data() => Err(Rejection::wrong_type("body", "a JSON object")),
            (Err(error), _) => Err(Rejection::Json(error.to_string())),
            // The language model might use the other one of the two values.
            (Ok(()), Some(name)) => Err(Rejection::wrong_type(name, "given once")),
            (Ok(()), None) => Ok(Self { known, alike }),
        }
    }

    /// The field's value.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let place = KNOWN.iter().position(|known| *known == name)?;
        self.known[place]
    }

    /// The field's value, unless it is absent or null.
    pub fn present(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get() != "null")
    }

    /// The value of a field that is a string. None if it is absent or null.
    pub fn string(&self, name: &str) -> Result<Option<String>, Rejection> {
        let read = |value: &RawValue| match value.get() {
            text if text.starts_with('"') && text.len() > MAX_NAME_BYTES => {
                Err(Rejection::wrong_type(name, &format!("a string of at most {MAX_NAME_BYTES} bytes in JSON")))
            }
            text => serde_json::from_str(text).map_err(|_| Rejection::wrong_type(name, "a string")),
        };
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
            Ok(_) if value.get().len() < MAX_NAME_BYTES => Err(Rejection::ContextTokenRatio(value.get().to_owned())),
            _ => Err(Rejection::wrong_type("context_token_ratio", "a number between 0.2 and 0.8")),
        };
        self.present("context_token_ratio").map(read).transpose()
    }

    /// The stages to turn on or off: the object `pipeline`, and the field `citations`, which wins.
    pub fn stages(&self) -> Result<StageChoices, Rejection> {
        let choices = self.pipeline()?;
        let is_cited = self.present("citations").map(|_| self.boolean("citations")).transpose()?;
        Ok(StageChoices { citations: is_cited.or(choices.citations), ..choices })
    }

    fn pipeline(&self) -> Result<StageChoices, Rejection> {
        let Some(value) = self.present("pipeline") else { return Ok(StageChoices::default()) };
        if !value.get().starts_with('{') {
            return Err(Rejection::wrong_type("pipeline", "an object"));
        }
        let wrong = |error: serde_json::Error| {
            Rejection::Stages(error.to_string().chars().take(MAX_REASON_CHARACTERS).collect())
        };
        let choices: StageChoices = serde_json::from_str(value.get()).map_err(wrong)?;
        for (name, text) in [("provider", &choices.provider), ("task_category", &choices.task_category)] {
            if text.as_ref().is_some_and(|text| !is_one_short_line(text)) {
                let expected = format!("a text of 1 to {MAX_CATEGORY_BYTES} bytes on one line");
                return Err(Rejection::wrong_type(format!("pipeline.{name}"), &expected));
            }
        }
        Ok(choices)
    }

    pub fn chat_mode(&self) -> Result<ChatMode, Rejection> {
        let Some(value) = self.present("chat_mode") else { return Ok(ChatMode::default()) };
        let wrong = |_| Rejection::wrong_type("chat_mode", "\"context\" or \"condense_plus_context\"");
        serde_json::from_str(value.get()).map_err(wrong)
    }

    pub fn metadata_filter(&self) -> Result<Filter, Rejection> {
        let Some(value) = self.present("metadata_filter") else { return Ok(Filter::default()) };
        if !value.get().starts_with('{') {
            return Err(Rejection::wrong_type("metadata_filter", "an object"));
        }
        Filter::parse(value.get()).map_err(Rejection::Filter)
    }

    /// The models that an endpoint may use besides `model`: those in `models` and in fields with a similar name. An
    /// entry that is not a string is returned as JSON.
    pub fn other_models(&self) -> Result<Vec<String>, Rejection> {
        let mut models = Vec::new();
        for value in self.present("models").into_iter().chain(self.alike.iter().copied()) {
            let read = if value.get().starts_with('[') {
                each_item(&mut serde_json::Deserializer::from_str(value.get()), |item| add(item, &mut models))
            } else {
                add(value, &mut models)
            };
            let expected = || format!("a list of at most {MAX_MODELS} models, each of at most {MAX_NAME_BYTES} bytes");
            read.map_err(|_| Rejection::wrong_type("models", &expected()))?;
        }
        Ok(models)
    }

    pub fn include_usage(&self) -> bool {
        let mut wanted = false;
        if let Some(options) = self.present("stream_options") {
            // The language model checks options that are not an object.
            drop(each_field(options.get(), |name, value| {
                if name == "include_usage" {
                    wanted = value.get() == "true";
                }
            }));
        }
        wanted
    }
}

fn add(model: &RawValue, models: &mut Vec<String>) -> Result<(), serde_json::Error> {
    let text = model.get();
    if models.len() == MAX_MODELS || text.len() > MAX_NAME_BYTES {
        return Err(serde::de::Error::custom("too many, or too long"));
    }
    models.push(serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned()));
    Ok(())
}

/// Whether a text can be in the first line of an entry of the context.
fn is_one_short_line(text: &str) -> bool {
    (1..=MAX_CATEGORY_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// Whether an endpoint may read this field as `model` or `models`. Go's decoder compares names with Unicode case
/// folding.
fn is_like_model(name: &str) -> bool {
    name.len() <= 12 && ["MODEL", "MODELS"].contains(&name.to_uppercase().as_str())
}
