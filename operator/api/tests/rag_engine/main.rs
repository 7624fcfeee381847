//! What the API server makes of a RAGEngine, without an API server: the definition's defaults, bounds and rules.

#![expect(clippy::unwrap_used, reason = "tests")]

mod admission;
mod bounds;
mod definition;
mod manifests;
mod rules;
#[path = "../shared/admission.rs"]
mod shared_admission;
#[path = "../shared/bounds.rs"]
mod shared_bounds;
#[path = "../shared/rules.rs"]
mod shared_rules;
#[path = "../shared/structural.rs"]
mod structural;
