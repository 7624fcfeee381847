//! Reconciling an Index: the pure steps, and the whole controller.

mod cases;
mod deleted;
mod desired;
mod fixture;
mod look_again;
mod objects;
mod paused;
mod real_server;
mod record;
mod rivals;
mod running;
mod schedule;
mod status;
mod stuck;
mod tasks;
mod tls;

pub use fixture::manifest;
pub use objects::pods_of_jobs;
