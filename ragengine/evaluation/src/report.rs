//! Writes the figures.

mod html;
mod markdown;
mod plot;

use crate::interval::Estimate;

pub use html::html;
pub use markdown::markdown;
pub use plot::PlotError;

/// What was measured, for the heading of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The name of the index.
    pub index: String,
    /// Facts, each with a name: the file of questions, the embedding model, the number of documents.
    pub facts: Vec<(String, String)>,
}

/// What a table shows if the server does not give a figure.
const NOT_AVAILABLE: &str = "not available";

/// A figure with its interval: `0.812 (0.760 to 0.858)`.
fn figure(estimate: &Estimate) -> String {
    format!("{:.3} ({:.3} to {:.3})", estimate.mean, estimate.low, estimate.high)
}

/// A share with its interval: `81% (76% to 86%)`.
fn percent(estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(
        || NOT_AVAILABLE.to_owned(),
        |share| format!("{:.0}% ({:.0}% to {:.0}%)", share.mean * 100.0, share.low * 100.0, share.high * 100.0),
    )
}
