//! Metrics for Prometheus. [`metrics!`] defines the name, labels, help text and documentation of each in one place.

mod builder;
mod definition;
mod labels;
mod reference;

pub use builder::{Builder, Built, Entry};
pub use labels::{IndexLabel, IndexLabels};
pub use prometheus;
pub use reference::markdown;
