//! Reconciling an Index: the pure steps, and the whole controller.

mod cases;
mod departed;
mod fixture;
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
mod wanted;

pub use objects::pods_of_jobs;
