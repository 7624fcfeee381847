//! Reconciling without a cluster: the pure steps from YAML to objects and conditions, and the whole controller with an
//! in-memory API server that can fail on request.

#![expect(clippy::unwrap_used, reason = "tests")]

mod access;
mod api_server;
mod backup;
mod controller;
mod drift;
mod every_field;
mod faults;
mod fixture;
mod index;
mod invalid;
mod lease;
mod nodes;
mod objects;
mod operators_settings;
mod outside;
mod ownership;
mod paused;
mod quiet;
mod replicas;
mod rollouts;
mod settings_file;
mod status;
mod tls;
mod watched;
mod withheld;
