//! Tests of the server and the operator that need a Kubernetes cluster. `make test-cluster` runs them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod backup;
mod documents;
mod durability;
mod index;
mod observability;
mod operator;
mod probes;
mod scheduled_backup;
mod shutdown;
