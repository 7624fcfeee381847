//! Tokenizers from real and from small files.

#![expect(clippy::unwrap_used, reason = "tests")]

mod counting;
mod files;
mod support;
