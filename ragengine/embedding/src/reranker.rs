//! Scores how well passages answer a question, with a cross-encoder in this process, on the CPU.

mod error;
mod model;
mod pairs;
mod service;

pub use error::Error;
pub use model::CrossEncoder;
pub use service::{Service, ServiceOptions};
