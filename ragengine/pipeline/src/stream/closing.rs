//! The chunk that this server adds if no chunk of an answer has a finish reason.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The fields that all chunks of an answer share, as JSON. They are copied from the first chunk with choices.
#[derive(Debug, Default)]
pub(super) struct Head {
    is_known: bool,
    id: Option<Box<RawValue>>,
    object: Option<Box<RawValue>>,
    created: Option<Box<RawValue>>,
    model: Option<Box<RawValue>>,
}

impl Head {
    /// Copies the shared fields from the first chunk with choices and ignores all later chunks.
    pub fn notice(&mut self, chunk: &str) {
        #[derive(Deserialize)]
        struct Chunk {
            id: Option<Box<RawValue>>,
            object: Option<Box<RawValue>>,
            created: Option<Box<RawValue>>,
            model: Option<Box<RawValue>>,
            choices: Vec<IgnoredAny>,
        }
        if self.is_known {
            return;
        }
        // Some servers start with a chunk that has no choices, no id and no model.
        if let Ok(Chunk { id, object, created, model, choices }) = serde_json::from_str(chunk)
            && !choices.is_empty()
        {
            *self = Self { is_known: true, id, object, created, model };
        }
    }

    /// A chunk without choices. Clients accept it because the chunk with the usage has none either.
    pub fn closing_chunk(&self) -> String {
        let object = self.object.as_deref().map_or(r#""chat.completion.chunk""#, RawValue::get);
        let known = [("id", &self.id), ("created", &self.created), ("model", &self.model)];
        let known: String = known
            .into_iter()
            .filter_map(|(name, value)| Some(format!("\"{name}\":{},", value.as_deref()?.get())))
            .collect();
        format!("{{{known}\"object\":{object},\"choices\":[]}}")
    }
}
