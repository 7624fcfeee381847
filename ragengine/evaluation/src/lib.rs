//! Measures how well an index answers questions whose relevant documents are known.
//!
//! ```text
//! report ── writes the figures as HTML with plots, and as Markdown
//! summary ── figures of each configuration, over all questions and over groups of them
//! metrics ── recall, reciprocal rank and nDCG of one question
//! interval ── a mean or a share with its confidence interval
//! question ── reads queries.jsonl
//! passages ── cuts packages into the passages of this repository's own questions
//! ```
//!
//! Nothing here sends requests: `ragengine eval` does.

pub mod interval;
pub mod metrics;
pub mod passages;
pub mod question;
pub mod report;
pub mod summary;
