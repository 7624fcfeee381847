//! The operator on a cluster: what users do with it, and what happens to it.

mod admission;
mod api_server;
mod deletion;
mod engine_ends;
mod fields;
mod foreign;
mod install;
mod lease;
mod models;
mod permissions;
mod previous_release;
mod references;
mod repair;
mod status;
mod upgrade;
mod write_token;
