//! Commands that print and exit.

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
/// When the settings are invalid.
pub fn check_config(path: Option<&Path>) -> anyhow::Result<()> {
    let settings = settings::load(path)?;
    logging::filter(&settings.log).map_err(anyhow::Error::msg)?;
    embedding::check_secrets(&settings.embedding.source())?;
    // Reads the language model's key and tokenizer. Sends no requests.
    let settings = &App::new(settings)?.settings;
    print(&format!(
        "The settings are valid. The server would listen on {} and store its data in {}.\n",
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
