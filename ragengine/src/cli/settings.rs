//! Finding the settings.

use std::path::Path;

use anyhow::Context as _;
use ragengine_settings::{Settings, from_yaml, validate};

/// The settings of a file, or the defaults, with what the environment overrides.
///
/// # Errors
///
/// When the file cannot be read, or what it or the environment says cannot be.
pub fn load(path: Option<&Path>) -> anyhow::Result<Settings> {
    let mut settings = match path {
        Some(path) => {
            let yaml = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the settings {}", path.display()))?;
            from_yaml(&yaml).with_context(|| format!("the settings in {} cannot be used", path.display()))?
        }
        None => Settings::default(),
    };
    settings.override_from(|name| std::env::var(name).ok())?;
    match validate(&settings).into_iter().next() {
        Some(invalid) => Err(invalid).context("the environment makes the settings unusable"),
        None => Ok(settings),
    }
}
