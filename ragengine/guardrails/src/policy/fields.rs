//! Reads the fields of an object in a policy. All errors name the field and say what to write.

use serde_json::{Map, Value};

use crate::limits::{MAX_PATTERN_CHARS, MAX_PATTERNS};

/// What is wrong with a field.
#[derive(Debug)]
pub(crate) struct Problem {
    pub field: String,
    /// Continues a sentence that begins with the field's name.
    pub reason: String,
}

impl Problem {
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// The fields of an object. Reading one takes it out, so that those left are unknown. A name may be written as
/// `redact_mode`, `redact-mode` or `redactMode`. A null is as good as no field.
pub(crate) struct Fields {
    fields: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// # Errors
    ///
    /// A field occurs twice, in different spellings.
    pub fn new(object: Map<String, Value>) -> Result<Self, Problem> {
        let mut fields = Map::new();
        for (name, value) in object {
            if fields.insert(snake_case(&name), value).is_some() {
                return Err(Problem::new(shortened(&name), "is there twice, in two spellings: remove one"));
            }
        }
        Ok(Self { fields, known: Vec::new() })
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// # Errors
    ///
    /// A field is left that nothing has read.
    pub fn none_left(&self) -> Result<(), Problem> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(name) => {
                let reason = format!("is unknown: the fields here are {}", self.known.join(", "));
                Err(Problem::new(shortened(name), reason))
            }
        }
    }

    pub fn raw(&mut self, name: &'static str) -> Option<Value> {
        self.take(name)
    }

    /// A text that is not empty.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(_) => Err(Problem::new(name, "must be a text that is not empty: put it in quotes")),
        }
    }

    /// One of `choices`, in any case of letters.
    pub fn choice(
        &mut self,
        name: &'static str,
        choices: &[&'static str],
        default: &'static str,
    ) -> Result<&'static str, Problem> {
        match self.take(name) {
            None => Ok(default),
            Some(value) => one_of(&value, choices)
                .ok_or_else(|| Problem::new(name, format!("must be one of {}", choices.join(", ")))),
        }
    }

    /// A list of `choices`. All of them, if the field is missing.
    pub fn choices(&mut self, name: &'static str, choices: &[&'static str]) -> Result<Vec<&'static str>, Problem> {
        let Some(value) = self.take(name) else { return Ok(choices.to_vec()) };
        let problem = |place: String| Problem::new(place, format!("must be one of {}", choices.join(", ")));
        match value {
            Value::Array(items) if !items.is_empty() => items
                .iter()
                .enumerate()
                .map(|(index, item)| one_of(item, choices).ok_or_else(|| problem(format!("{name}[{index}]"))))
                .collect(),
            _ => Err(Problem::new(name, format!("must be a list with at least one of {}", choices.join(", ")))),
        }
    }

    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, Problem> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Problem::new(name, "must be true or false, without quotes")),
        }
    }

    /// A whole number from 0.
    pub fn count(&mut self, name: &'static str, default: u64) -> Result<u64, Problem> {
        match self.take(name) {
            None => Ok(default),
            Some(value) => value
                .as_u64()
                .ok_or_else(|| Problem::new(name, "must be a whole number that is not negative, without quotes")),
        }
    }

    pub fn number(&mut self, name: &'static str) -> Result<Option<f64>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) if number.is_finite() => Ok(Some(number)),
                _ => Err(Problem::new(name, "must be a number, without quotes")),
            },
        }
    }

    /// A list of texts, none of them empty or too long.
    pub fn texts(&mut self, name: &'static str, what: &str) -> Result<Vec<String>, Problem> {
        let items = match self.take(name) {
            Some(Value::Array(items)) if !items.is_empty() => items,
            None => return Err(Problem::new(name, format!("is missing: write a list of {what}"))),
            Some(_) => return Err(Problem::new(name, format!("must be a list of {what} that is not empty"))),
        };
        if items.len() > MAX_PATTERNS {
            let reason = format!("has more than {MAX_PATTERNS} {what}: use several scanners");
            return Err(Problem::new(name, reason));
        }
        items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                match item {
                    Value::String(text) if text.is_empty() => Err("is empty: remove it"),
                    Value::String(text) if text.chars().count() > MAX_PATTERN_CHARS => {
                        Err("is longer than 2000 characters")
                    }
                    Value::String(text) => Ok(text),
                    _ => Err("is not a text: put it in quotes"),
                }
                .map_err(|reason| Problem::new(format!("{name}[{index}]"), reason))
            })
            .collect()
    }
}

fn one_of(value: &Value, choices: &[&'static str]) -> Option<&'static str> {
    let text = value.as_str()?;
    choices.iter().copied().find(|choice| choice.eq_ignore_ascii_case(text))
}

/// A name with underscores in place of hyphens and capitals.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for char in name.trim().chars() {
        if char.is_ascii_uppercase() && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.push(if char == '-' { '_' } else { char.to_ascii_lowercase() });
    }
    snake
}

/// The beginning of a name for a message.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().filter(|char| !char.is_control()).take(40).collect()
}
