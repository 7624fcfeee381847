//! The operator on a cluster: its features, and its behaviour when something fails.

mod admission;
mod api_server;
mod conversations;
mod deletion;
mod engine_failures;
mod fields;
mod foreign;
mod install;
mod known_callers;
mod lease;
mod models;
mod nodes;
mod permissions;
mod previous_release;
mod references;
mod repair;
mod replicas;
mod server_tls;
mod status;
mod upgrade;
mod write_token;
