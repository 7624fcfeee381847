//! What an endpoint reports about its models.

use std::collections::HashMap;

use serde_json::Value;

/// The models of an endpoint and their context windows in tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The listed models, in the endpoint's order.
    pub models: Vec<String>,
    windows: HashMap<String, u64>,
    /// The window of the one model that is served, in tokens. None if the endpoint does not report it.
    served_window: Option<u64>,
}

impl Facts {
    /// Parses the replies of `/v1/models` and of `/props` (llama.cpp's server) or `/api/ps` (Ollama).
    pub fn read(models: &Value, props: Option<&Value>, running: Option<&Value>) -> Self {
        let listed: Vec<&Value> = models["data"].as_array().into_iter().flatten().collect();
        let id = |model: &&Value| model["id"].as_str().map(str::to_owned);
        let running = running.and_then(|running| running["models"].as_array()).into_iter().flatten();
        let running = running.filter_map(|model| Some((model["model"].as_str()?.to_owned(), window(model)?)));
        Self {
            models: listed.iter().filter_map(id).collect(),
            windows: listed.iter().filter_map(|model| Some((id(model)?, window(model)?))).chain(running).collect(),
            served_window: props.and_then(|props| {
                positive(&props["default_generation_settings"]["n_ctx"]).or_else(|| positive(&props["n_ctx"]))
            }),
        }
    }

    /// The first listed model.
    pub fn first_model(&self) -> Option<&str> {
        self.models.first().map(String::as_str)
    }

    /// The context window of a model in tokens.
    pub fn window(&self, model: &str) -> Option<u64> {
        // The window that a server was started with is smaller than the one that its model was trained for.
        self.served_window.or_else(|| self.windows.get(model).copied())
    }
}

/// Whether the list of models is Ollama's.
pub fn is_ollama(models: &Value) -> bool {
    models["data"].as_array().into_iter().flatten().any(|model| model["owned_by"] == "library")
}

/// The context window of a model in tokens: `max_model_len` from vLLM, `meta.n_ctx_train` from llama.cpp,
/// `context_length` from OpenRouter and Ollama's `/api/ps`.
fn window(model: &Value) -> Option<u64> {
    [&model["max_model_len"], &model["context_length"], &model["context_window"], &model["meta"]["n_ctx_train"]]
        .into_iter()
        .find_map(positive)
}

fn positive(value: &Value) -> Option<u64> {
    value.as_u64().filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_server_says_it_in_its_own_way() {
        for (model, tokens) in [
            (json!({"id": "m", "max_model_len": 32768}), Some(32768)),
            (json!({"id": "m", "meta": {"n_ctx_train": 2048}}), Some(2048)),
            (json!({"id": "m", "context_length": 131_072}), Some(131_072)),
            (json!({"id": "m"}), None),
            (json!({"id": "m", "max_model_len": 0}), None),
        ] {
            let facts = Facts::read(&json!({"data": [model]}), None, None);
            assert_eq!((facts.first_model(), facts.window("m")), (Some("m"), tokens), "{model}");
            assert_eq!(facts.window("other"), None);
        }
    }

    #[test]
    fn what_a_server_was_started_with_wins() {
        let models = json!({"data": [{"id": "m", "meta": {"n_ctx_train": 32768}}]});
        let props = json!({"default_generation_settings": {"n_ctx": 4096}});
        assert_eq!(Facts::read(&models, Some(&props), None).window("m"), Some(4096));
    }

    #[test]
    fn ollama_says_it_of_the_models_that_run() {
        let models = json!({"data": [{"id": "a", "owned_by": "library"}, {"id": "b", "owned_by": "library"}]});
        assert!(is_ollama(&models) && !is_ollama(&json!({"data": [{"id": "a", "owned_by": "vllm"}]})));
        let running = json!({"models": [{"name": "b", "model": "b", "context_length": 16384}]});
        let facts = Facts::read(&models, None, Some(&running));
        assert_eq!((facts.window("a"), facts.window("b")), (None, Some(16384)));
    }

    #[test]
    fn nonsense_is_nothing() {
        assert_eq!(Facts::read(&json!("no"), Some(&json!([])), Some(&json!(1))), Facts::default());
    }
}
