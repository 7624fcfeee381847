//! The log, on standard error, one line per event.

mod json;
mod text;

use std::io::{self, IsTerminal as _};
use std::panic::PanicHookInfo;

use json::JsonLines;
use ragengine_errors::texts;
use ragengine_settings::{Log, LogFormat};
use text::TextLines;
use tracing_subscriber::EnvFilter;

/// Starts the log. `RUST_LOG` overrides the level of the settings.
///
/// # Errors
///
/// A message when the level is invalid.
pub fn start(log: &Log) -> Result<(), String> {
    let filter = filter(log)?;
    texts::allow(log.texts);
    let is_readable = match log.format {
        LogFormat::Auto => io::stderr().is_terminal(),
        LogFormat::Json => false,
        LogFormat::Text => true,
    };
    // Otherwise a failed write (full disk, closed pipe) is reported on standard error as well, which panics.
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).log_internal_errors(false);
    let started = if is_readable {
        let has_colours = io::stderr().is_terminal();
        builder.with_ansi(has_colours).event_format(TextLines::new(has_colours)).try_init()
    } else {
        builder.event_format(JsonLines).try_init()
    };
    started.map_err(|error| error.to_string())?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// Logs a panic. A formatted message may quote text of users, so only its length is logged unless `log.texts` is on.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string);
    let words = panic.payload_as_str().unwrap_or("unknown");
    let is_our_own = panic.payload().is::<&'static str>();
    let words = if is_our_own || texts::are_logged() { words.to_owned() } else { texts::length(words) };
    tracing::error!(panic = words, location, "panicked");
}

/// The filter of `RUST_LOG`, or of the settings.
///
/// # Errors
///
/// A message when it is invalid.
pub fn filter(log: &Log) -> Result<EnvFilter, String> {
    let from_environment = std::env::var("RUST_LOG").ok().filter(|value| !value.is_empty());
    let directives = from_environment.unwrap_or_else(|| log.level.clone());
    let filter =
        EnvFilter::try_new(&directives).map_err(|error| format!("log.level '{directives}' is invalid: {error}"))?;
    // It logs each lost connection, which this program does, too.
    let quiet = "lapin=off".parse().map_err(|error| format!("the filter of the log: {error}"))?;
    Ok(if directives.contains("lapin") { filter } else { filter.add_directive(quiet) })
}
