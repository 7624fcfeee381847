//! Writes the settings file of a server.

use ragengine_operator_api::{Endpoints, InferenceService, RagEngineSpec};
use ragengine_settings::Settings;
use serde_json::{Map, Value};

/// The settings file of a server of this version. It has only settings that differ from the defaults, so that a server
/// of another version is not given settings it may not know.
///
/// # Errors
///
/// The serialisation error. No settings made from a specification are known to cause one.
pub fn settings_file(settings: &Settings) -> Result<String, serde_json::Error> {
    file(settings, &[])
}

/// The settings file of a server of another version. Settings of the specification are written even if they equal this
/// version's default, because the other version may have other defaults.
///
/// # Errors
///
/// Like [`settings_file`].
pub fn settings_file_of_another_version(
    settings: &Settings,
    spec: &RagEngineSpec,
) -> Result<String, serde_json::Error> {
    let always: Vec<&str> = ALWAYS_WRITTEN.into_iter().chain(set_options(spec)).collect();
    file(settings, &always)
}

/// Settings that a specification has always had a value for, since the first version.
const ALWAYS_WRITTEN: [&str; 9] = [
    "/retrieval/maxDistance",
    "/retrieval/contextTokenRatio",
    "/retrieval/minTopK",
    "/retrieval/tokensPerChunk",
    "/inferenceService/timeoutSeconds",
    "/embedding/local/revision",
    "/embedding/local/hubUrl",
    "/embedding/remote/batchSize",
    "/embedding/remote/timeoutSeconds",
];

/// Optional settings that this specification sets. All other optional settings have no default and are written whenever
/// they are set.
fn set_options(spec: &RagEngineSpec) -> impl Iterator<Item = &'static str> {
    let is_set =
        |field: fn(&InferenceService) -> Option<u32>| spec.inference_service.as_ref().and_then(field).is_some();
    let Endpoints { completions, retrieve } = spec.endpoints.clone().unwrap_or_default();
    let (completions, retrieve) = (completions.unwrap_or_default(), retrieve.unwrap_or_default());
    let retrieval = &spec.retrieval;
    let settings = [
        ("/endpoints/completions/acronyms", completions.acronyms.is_some()),
        ("/endpoints/completions/filterRules", completions.filter_rules.is_some()),
        ("/endpoints/completions/retrieval", completions.retrieval.is_some()),
        ("/endpoints/completions/recency", completions.recency.is_some()),
        ("/endpoints/completions/diversity", completions.diversity.is_some()),
        ("/endpoints/retrieve/acronyms", retrieve.acronyms.is_some()),
        ("/endpoints/retrieve/filterRules", retrieve.filter_rules.is_some()),
        ("/endpoints/retrieve/retrieval", retrieve.retrieval.is_some()),
        ("/retrieval/threshold", retrieval.threshold.is_some()),
        ("/retrieval/language", retrieval.language.is_some()),
        ("/retrieval/denseWeight", retrieval.dense_weight.is_some()),
        ("/retrieval/textWeight", retrieval.text_weight.is_some()),
        ("/retrieval/mmrLambda", retrieval.mmr_lambda.is_some()),
        ("/retrieval/duplicateSimilarity", retrieval.duplicate_similarity.is_some()),
        ("/inferenceService/maxConcurrentRequests", is_set(|service| service.max_concurrent_requests)),
        ("/inferenceService/maxWaitingRequests", is_set(|service| service.max_waiting_requests)),
    ];
    settings.into_iter().filter_map(|(setting, is_set)| is_set.then_some(setting))
}

fn file(settings: &Settings, always: &[&str]) -> Result<String, serde_json::Error> {
    let (mut written, mut defaults) = (as_value(settings)?, as_value(&Settings::default())?);
    for setting in always {
        // Null never equals a setting, so the setting is written.
        if let Some(default) = defaults.pointer_mut(setting) {
            *default = Value::Null;
        }
    }
    remove_equal(&mut written, &defaults);
    // Block style YAML, which people can read.
    serde_saphyr::to_string(&written).map_err(|error| serde::ser::Error::custom(error.to_string()))
}

/// Serialises through text, because converting a 32-bit number directly to 64 bits would give 1.100000023841858.
fn as_value(settings: &Settings) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(settings)?)
}

fn remove_equal(written: &mut Value, defaults: &Value) {
    let (Value::Object(fields), Value::Object(defaults)) = (written, defaults) else { return };
    let kept = std::mem::take(fields).into_iter().filter_map(|(name, mut value)| {
        let default = defaults.get(&name);
        if default == Some(&value) {
            return None;
        }
        remove_equal(&mut value, default.unwrap_or(&Value::Null));
        Some((name, value))
    });
    *fields = kept.collect::<Map<_, _>>();
}
