//! Context from similar earlier questions and their answers.
//!
//! The modules in the order of their use:
//!
//! - [`priority`] orders the interactions that a search found; [`band`] names their similarities
//! - [`limits`] tells how long the context may be
//! - [`build`] writes the entries; [`relevance`] keeps those that share words with the question; [`entries`] splits a
//!   context again
//! - [`validity`] and [`quality`] judge a context

pub mod band;
pub mod build;
pub mod entries;
pub mod limits;
pub mod priority;
pub mod quality;
pub mod relevance;
mod stems;
pub mod validity;

/// Between two entries of a context.
pub const SEPARATOR: &str = "\n\n---\n\n";

/// An earlier question with its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interaction<'a> {
    /// The user's question (`user_input`).
    pub question: &'a str,
    /// The answer (`ai_response`).
    pub answer: &'a str,
    /// The language model, with its provider (`ai_provider`).
    pub provider: Option<&'a str>,
    /// The kind of the task (`task_category`).
    pub category: Option<&'a str>,
    /// The similarity of its question to the question now.
    pub similarity: Option<f32>,
}

#[cfg(test)]
mod tests;
