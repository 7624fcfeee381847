//! Sizes and durations of the measurements.

use std::time::Duration;

use crate::args::Arguments;

/// Sizes and durations of all measurements.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Number of documents in the index.
    pub documents: usize,
    /// Number of chunks in the large index.
    pub chunks: usize,
    /// Number of different questions.
    pub questions: usize,
    /// Number of turns of each comparison.
    pub rounds: usize,
    /// Duration of turns that are limited by time.
    pub turn: Duration,
    /// Number of requests before memory is measured.
    pub requests_before_memory: usize,
    /// Number of tokens in a long stream.
    pub streamed_tokens: usize,
    /// Number of concurrent streams.
    pub streams_at_once: usize,
    /// Number of concurrent clients in a flood.
    pub clients_of_a_flood: usize,
    /// Number of chunks in the index that is copied.
    pub copied_chunks: usize,
    /// Size of each document that is difficult to split, in bytes.
    pub cut_bytes: usize,
}

impl Effort {
    /// The sizes for the command line: `--quick` reduces them.
    pub fn of(arguments: &Arguments) -> Self {
        if arguments.quick {
            Self {
                documents: 300,
                chunks: arguments.chunks.min(20_000),
                questions: 30,
                rounds: 4,
                turn: Duration::from_millis(500),
                requests_before_memory: 50,
                streamed_tokens: 300,
                streams_at_once: 100,
                clients_of_a_flood: 100,
                copied_chunks: 2000,
                cut_bytes: 100_000,
            }
        } else {
            Self {
                documents: 2000,
                chunks: arguments.chunks,
                questions: 200,
                rounds: 10,
                turn: Duration::from_millis(1500),
                requests_before_memory: 500,
                streamed_tokens: 2000,
                streams_at_once: 1000,
                clients_of_a_flood: 500,
                copied_chunks: 20_000,
                cut_bytes: 1_000_000,
            }
        }
    }
}
