//! Earlier questions of the caller and their answers as context.

mod found;
mod written;

use std::sync::Arc;
use std::time::Instant;

use ragengine_client::wire::ExplainedStage;
use ragengine_embedding::Windows;
use ragengine_errors::Logged as _;
use ragengine_pipeline::interactions::band::Band;
use ragengine_pipeline::prompt::Boundary;
use ragengine_stores::Similar;
use ragengine_traces::in_span;
use tokio::time::timeout;
use tracing::warn;

use self::found::find;
use self::written::{Writing, Written};
use super::ongoing::Ongoing;
use super::question::Asked;
use crate::app::App;
use crate::error::ApiError;
use crate::retrieval::stages::{self, ended};

/// The question whose interactions are looked for, and the room that they have.
pub(super) struct Place<'a> {
    /// The vectors of the question.
    pub vectors: &'a Windows,
    /// The digits in the lines around the part.
    pub boundary: &'a Boundary,
    /// Tokens that the part may have.
    pub tokens_left: u64,
}

/// The part of the prompt with earlier interactions. None if the stage is off, or no interaction is found or fits. A
/// failure or a timeout of the store counts as no interaction.
///
/// # Errors
///
/// When the server is shutting down.
pub(super) async fn part(
    app: &App,
    asked: &Arc<Asked>,
    place: Place<'_>,
    report: &mut Ongoing,
) -> Result<Option<String>, ApiError> {
    let stage = match app.loaded()?.stores.interactions().filter(|_| asked.on.interactions) {
        None => None,
        Some(_) => Some(in_span("interactions", of_stage(app, asked, place)).await?),
    };
    let (part, stage) = stage.unzip();
    stages::count(&app.metrics, asked.way.endpoint, "interactions", stage.as_slice());
    stage.into_iter().for_each(|stage| report.stage_was(stage));
    Ok(part.flatten())
}

async fn of_stage(
    app: &App,
    asked: &Arc<Asked>,
    place: Place<'_>,
) -> Result<(Option<String>, ExplainedStage), ApiError> {
    let started = Instant::now();
    let past = match timeout(app.stage_timeouts.interactions, find(app, asked, place.vectors)).await {
        Ok(Ok(past)) => past,
        Ok(Err(error)) => {
            warn!(kind = error.kind(), reason = error.for_log(), "interactions not read: the answer is made without");
            return Ok((None, ended("interactions", "failed", started)));
        }
        Err(_) => return Ok((None, ended("interactions", "timeout", started))),
    };
    let written = write(app, asked, place, past).await?;
    let outcome = if written.part.is_some() { "done" } else { "unchanged" };
    let stage = ExplainedStage { ids: written.ids, bands: written.bands, ..ended("interactions", outcome, started) };
    Ok((written.part, stage))
}

/// Writes the part on a thread for searches, because words are stemmed and tokens are counted.
async fn write(app: &App, asked: &Arc<Asked>, place: Place<'_>, past: Vec<Similar>) -> Result<Written, ApiError> {
    if past.is_empty() {
        return Ok(Written::default());
    }
    let writing = Writing {
        asked: Arc::clone(asked),
        settings: app.settings.interactions.clone(),
        boundary: place.boundary.clone(),
        tokens_left: place.tokens_left,
    };
    app.loaded()?.search_pool.run(move || Ok(writing.write(&past))).await
}

/// The value of a band in replies.
fn label(similarity: f32) -> String {
    Band::of(similarity).label().to_owned()
}
