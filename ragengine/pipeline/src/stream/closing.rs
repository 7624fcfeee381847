//! The chunk of ours behind an answer none of whose chunks said why it ended.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// What the chunks of an answer have in common, as JSON, from the first one that says something.
#[derive(Debug, Default)]
pub(super) struct Head {
    is_known: bool,
    id: Option<Box<RawValue>>,
    object: Option<Box<RawValue>>,
    created: Option<Box<RawValue>>,
    model: Option<Box<RawValue>>,
}

impl Head {
    /// Takes note of a chunk. Only the first one is looked through.
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
        // Some servers begin with a chunk without choices that has neither an id nor a model.
        if let Ok(Chunk { id, object, created, model, choices }) = serde_json::from_str(chunk)
            && !choices.is_empty()
        {
            *self = Self { is_known: true, id, object, created, model };
        }
    }

    /// A chunk without choices, as the one with the usage has none: clients know such chunks.
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
