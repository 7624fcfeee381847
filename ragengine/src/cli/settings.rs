//! Loading the settings.

use std::path::Path;

use anyhow::Context as _;
use ragengine_settings::{Settings, from_yaml, validate};

/// Reads the settings from a file, or uses the defaults, and applies overrides from the environment.
///
/// # Errors
///
/// When the file cannot be read, or the file or the environment has invalid values.
pub fn load(path: Option<&Path>) -> anyhow::Result<Settings> {
    let mut settings = match path {
        Some(path) => {
            let yaml = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the settings {}", path.display()))?;
            from_yaml(&yaml).with_context(|| format!("the settings in {} are invalid", path.display()))?
        }
        None => Settings::default(),
    };
    settings.override_from(|name| std::env::var(name).ok())?;
    match validate(&settings).into_iter().next() {
        Some(invalid) => Err(invalid).context("the settings are invalid with the overrides from the environment"),
        None => Ok(settings),
    }
}
