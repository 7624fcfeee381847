//! The chat algorithm as pure functions on plain data: no I/O, no clock, no runtime.
//!
//! In the order of a request: [`openai`] reads a [`chat_body`] into a [`request`] with its
//! [`conversation`], [`plan`] decides between passing it through and retrieval,
//! [`budget`] divides the context window, [`select`] is the ContextSelectionProcessor, [`prompt`] writes what the language
//! model gets, [`extract`] answers without one and [`sentences`] tells where its sentences end, [`stream`] reads and marks the events of a streamed answer.

pub mod budget;
pub mod chat_body;
pub mod conversation;
pub mod extract;
pub mod finish;
pub mod openai;
pub mod plan;
pub mod prompt;
pub mod rejection;
pub mod request;
pub mod select;
pub mod sentences;
pub mod stream;

pub use rejection::Rejection;
