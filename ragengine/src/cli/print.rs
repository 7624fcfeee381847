//! Commands that print something and end.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use ragengine_settings::Settings;

use super::settings;
use crate::app::App;
use crate::telemetry::logging;
use crate::telemetry::metrics::Metrics;
use crate::{embedding, router};

/// `ragengine check-config`
///
/// # Errors
///
/// What is wrong with the settings.
pub fn check_config(path: Option<&Path>) -> anyhow::Result<()> {
    let settings = settings::load(path)?;
    logging::filter(&settings.log).map_err(anyhow::Error::msg)?;
    embedding::check_secrets(&settings.embedding.source())?;
    // Reads the key and the tokenizer of the language model, and sends nothing.
    let settings = &App::new(settings)?.settings;
    print(&format!(
        "The settings are fine: the server would listen on {} and keep its data in {}.\n",
        settings.listen,
        settings.data_dir.display()
    ))
}

/// `ragengine openapi`
///
/// # Errors
///
/// When standard output is closed.
pub fn openapi() -> anyhow::Result<()> {
    print(&(router::openapi().to_pretty_json()? + "\n"))
}

/// `ragengine settings-reference`
///
/// # Errors
///
/// When standard output is closed.
pub fn settings_reference() -> anyhow::Result<()> {
    print(&ragengine_settings::markdown_reference())
}

/// `ragengine metrics-reference`
///
/// # Errors
///
/// When standard output is closed.
pub fn metrics_reference() -> anyhow::Result<()> {
    let timeout = Duration::from_secs(Settings::default().inference_service.timeout_seconds);
    print(&Metrics::new(timeout)?.reference())
}

fn print(text: &str) -> anyhow::Result<()> {
    io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")
}
