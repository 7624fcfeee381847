//! Names of objects that several modules use.

/// The name of the operator's Deployment and lease, and the value of its label. Names of its cluster-wide objects begin
/// with it.
pub const OPERATOR: &str = "ragengine-operator";

/// The name of containers that run `cluster-client`.
pub const CLIENT: &str = "cluster-client";
