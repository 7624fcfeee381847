//! Names that several modules know objects by.

/// The operator's Deployment, its container's label and its lease; what it has for the whole cluster begins with it.
pub const OPERATOR: &str = "ragengine-operator";

/// The containers that run `cluster-client`.
pub const CLIENT: &str = "cluster-client";
