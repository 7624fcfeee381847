//! Runs embedding models in this process, on the CPU.

mod batching;
mod fingerprint;
mod graph;
mod model;
mod pooling;
mod queue;
mod service;
mod text;
mod worker;

pub use model::Model;
pub use rten::ThreadPool;
pub use service::{QueueDepths, Service, ServiceOptions};
pub use text::MAX_BYTES_PER_QUERY_TOKEN;
