//! Writes the settings file of a server.

use ragengine_operator_api::RagEngineSpec;
use ragengine_settings::Settings;
use serde_json::{Map, Value};

/// The settings file of a server of this version. It has only settings that differ from the defaults, so that a server
/// of another version is not given settings it may not know.
///
/// # Errors
///
/// The serialisation error. No settings made from a specification are known to cause one.
pub fn settings_file(settings: &Settings) -> Result<String, serde_json::Error> {
    file(settings, as_value(&Settings::default())?)
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
    let mut defaults = as_value(&Settings::default())?;
    for setting in ALWAYS_WRITTEN {
        // Null never equals a setting, so the setting is written.
        if let Some(default) = defaults.pointer_mut(setting) {
            *default = Value::Null;
        }
    }
    let mut fields = serde_json::to_value(spec)?;
    // Earlier versions accepted the field and ignored it, so a server that does not know the setting may run with it.
    if let Some(fields) = fields.as_object_mut().filter(|_| !settings.guardrails.enabled) {
        fields.remove("guardrails");
    }
    // The only setting that is not at the place of its field.
    if let Some(database) = fields.pointer("/storage/vectorDB").cloned().filter(|_| settings.vector_db.is_external()) {
        fields["vectorDB"] = database;
    }
    remove_set(&mut defaults, &fields);
    file(settings, defaults)
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

/// Settings with free keys. The server takes each as a whole, so one that differs from the default is written as a whole.
const WHOLE: [&str; 1] = ["/interactions/maxCharsByModel"];

/// Removes the defaults of settings that the specification sets. A setting has the same name as its field.
fn remove_set(defaults: &mut Value, spec: &Value) {
    let (Value::Object(defaults), Value::Object(fields)) = (defaults, spec) else { return };
    for (name, field) in fields {
        match defaults.get_mut(name) {
            Some(default @ Value::Object(_)) => remove_set(default, field),
            Some(default) => *default = Value::Null,
            None => {}
        }
    }
}

fn file(settings: &Settings, mut defaults: Value) -> Result<String, serde_json::Error> {
    let mut written = as_value(settings)?;
    for setting in WHOLE {
        let value = written.pointer(setting);
        if let Some(default) = defaults.pointer_mut(setting).filter(|default| value != Some(default)) {
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
