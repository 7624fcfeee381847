//! Tokenizers from real and from small files.

mod support;

mod counting;
mod files;
