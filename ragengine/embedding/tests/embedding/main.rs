//! Tests with the real model, and with scripted HTTP servers.

#![expect(clippy::unwrap_used, reason = "tests")]

mod fetch;
mod files;
mod model;
mod remote;
mod server;
mod service;
