//! Tests of policies as their authors and readers of answers see them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod calls;
mod chain;
mod choices;
mod file;
mod invisible;
mod json;
mod limits;
mod patterns;
mod personal_data;
mod phrases;
mod policy_errors;
mod policy_fields;
mod secrets;
mod splits;
mod support;
