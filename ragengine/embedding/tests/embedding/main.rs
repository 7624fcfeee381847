//! The real model, and HTTP against scripted servers.

#![expect(clippy::unwrap_used, reason = "tests")]

mod fetch;
mod files;
mod model;
mod remote;
mod server;
mod service;
