//! Tests of the defaults, bounds and CEL rules of a RAGEngine, without an API server.

#![expect(clippy::unwrap_used, reason = "tests")]

mod admission;
mod bounds;
mod definition;
#[path = "../every_definition/admission.rs"]
mod every_admission;
#[path = "../every_definition/bounds.rs"]
mod every_bound;
#[path = "../every_definition/rules.rs"]
mod every_rule;
mod manifests;
mod rules;
#[path = "../every_definition/structural.rs"]
mod structural;
