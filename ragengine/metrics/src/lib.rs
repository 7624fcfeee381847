//! Metrics for Prometheus. Each is defined once, by [`metrics!`]: its name, its labels, its help and its documentation come from there.

mod builder;
mod definition;
mod labels;
mod reference;

pub use builder::{Builder, Built, Entry};
pub use labels::{IndexLabel, IndexLabels};
pub use prometheus;
pub use reference::markdown;
