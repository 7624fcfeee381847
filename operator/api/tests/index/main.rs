//! What the API server makes of an Index, without an API server: the definition's defaults, bounds and rules.

#![expect(clippy::unwrap_used, reason = "tests")]

mod admission;
mod bounds;
mod definition;
mod manifests;
mod rules;
#[path = "../rag_engine/structural.rs"]
mod structural;
