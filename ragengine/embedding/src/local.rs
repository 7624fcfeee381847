//! Runs embedding models in this process, on the CPU.

mod fingerprint;
mod graph;
mod model;
mod pooling;
mod service;
mod text;

pub use model::Model;
pub use rten::ThreadPool;
pub use service::{QueueDepths, Service, ServiceOptions};
pub use text::MAX_BYTES_PER_QUERY_TOKEN;
