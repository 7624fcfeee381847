//! The server and the operator on a Kubernetes cluster: what only a cluster can show. `make test-cluster` runs them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod backup;
mod documents;
mod durability;
mod index;
mod observability;
mod operator;
mod probes;
mod shutdown;
