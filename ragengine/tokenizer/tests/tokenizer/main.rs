//! Tests tokenizers from real and from minimal files.

#![expect(clippy::unwrap_used, reason = "tests")]

mod counting;
mod files;
mod support;
