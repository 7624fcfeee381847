//! The settings as the file that a server reads.

use ragengine_operator_api::{InferenceService, RagEngineSpec};
use ragengine_settings::Settings;
use serde_json::{Map, Value};

/// The settings as a file: only what differs from the defaults, so that a server of another version, which may not know a newer
/// setting, is not given what nobody asked for.
///
/// # Errors
///
/// What serde says; no settings that were made from a specification are known that cannot be written.
pub fn settings_file(settings: &Settings) -> Result<String, serde_json::Error> {
    file(settings, &[])
}

/// The same for a server of another version: what the specification says is written also where it is this version's default, because the other one may
/// have another.
///
/// # Errors
///
/// As [`settings_file`].
pub fn settings_file_of_another_version(
    settings: &Settings,
    spec: &RagEngineSpec,
) -> Result<String, serde_json::Error> {
    let said: Vec<&str> = ALWAYS_SAID.into_iter().chain(said(spec)).collect();
    file(settings, &said)
}

/// What a specification always has a value for, since the first version.
const ALWAYS_SAID: [&str; 9] = [
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

/// What this one sets and others need not. Its other fields have no default where they are not set, so that they are written anyhow.
fn said(spec: &RagEngineSpec) -> impl Iterator<Item = &'static str> {
    let is_set =
        |field: fn(&InferenceService) -> Option<u32>| spec.inference_service.as_ref().and_then(field).is_some();
    let settings = [
        ("/inferenceService/maxConcurrentRequests", is_set(|service| service.max_concurrent_requests)),
        ("/inferenceService/maxWaitingRequests", is_set(|service| service.max_waiting_requests)),
    ];
    settings.into_iter().filter_map(|(setting, is_set)| is_set.then_some(setting))
}

fn file(settings: &Settings, always: &[&str]) -> Result<String, serde_json::Error> {
    let (mut written, mut defaults) = (as_value(settings)?, as_value(&Settings::default())?);
    for said in always {
        // Nothing is equal to what is not there.
        if let Some(default) = defaults.pointer_mut(said) {
            *default = Value::Null;
        }
    }
    remove_equal(&mut written, &defaults);
    // JSON is YAML; this is the kind that people read.
    serde_saphyr::to_string(&written).map_err(|error| serde::ser::Error::custom(error.to_string()))
}

/// By way of text: a 32-bit number that became a 64-bit one at once would read 1.100000023841858.
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
