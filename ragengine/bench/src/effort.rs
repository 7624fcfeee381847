//! How much is measured.

use std::time::Duration;

use crate::args::Arguments;

/// Sizes and times of all measurements.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Documents in the index.
    pub documents: usize,
    /// Chunks in the large index.
    pub chunks: usize,
    /// Different questions.
    pub questions: usize,
    /// Turns of everything that is measured in turns.
    pub rounds: usize,
    /// How long a turn lasts where it is bounded by time.
    pub turn: Duration,
    /// Requests before memory is looked at.
    pub requests_before_memory: usize,
    /// Tokens of a long stream.
    pub streamed_tokens: usize,
    /// Streams that are open at the same time.
    pub streams_at_once: usize,
    /// Clients that flood the server.
    pub clients_of_a_flood: usize,
    /// Chunks of the index that is copied.
    pub copied_chunks: usize,
    /// Bytes of each document that is difficult to cut.
    pub cut_bytes: usize,
}

impl Effort {
    /// The one that the command line asks for.
    pub fn of(arguments: &Arguments) -> Self {
        match arguments.quick {
            false => Self {
                documents: 2000,
                chunks: arguments.chunks,
                questions: 200,
                rounds: 10,
                turn: Duration::from_millis(1500),
                requests_before_memory: 500,
                streamed_tokens: 2000,
                streams_at_once: 500,
                clients_of_a_flood: 500,
                copied_chunks: 20_000,
                cut_bytes: 1_000_000,
            },
            true => Self {
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
            },
        }
    }
}
