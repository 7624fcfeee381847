//! The chat algorithm as pure functions on plain data: no I/O, no clock, no runtime.
//!
//! The modules in the order of a request:
//!
//! - [`openai`] reads a [`chat_body`] into a [`request`] with its [`conversation`]
//! - [`plan`] decides whether the request is passed through or answered from an index
//! - [`follow_up`] finds questions that need the history; a language model rewrites them with a [`side_prompt`]
//! - [`acronyms`] expands the query for the retrieval
//! - [`filter`] reads the conditions on the documents that may be retrieved, and chooses one by the query's [`words`]
//! - [`ranking`] orders the chunks that a search found
//! - [`budget`] divides the context window
//! - [`select`] selects the retrieved chunks that go into the prompt
//! - [`interactions`] writes a context from earlier questions and their answers
//! - [`prompt`] writes the prompt; [`finish`] shortens it until it fits
//! - [`stream`] reads the events of a streamed answer, and adds the sources
//! - [`post_process`] converts HTML in an answer, and [`answer`] checks and renumbers its citations
//! - [`extract`] answers without a language model; [`sentences`] finds the ends of sentences for it

pub mod acronyms;
pub mod answer;
pub mod budget;
pub mod chat_body;
pub mod conversation;
pub mod extract;
pub mod filter;
pub mod finish;
pub mod follow_up;
pub mod history;
pub mod interactions;
pub mod openai;
pub mod plan;
pub mod post_process;
pub mod prompt;
pub mod ranking;
pub mod rejection;
pub mod request;
pub mod select;
pub mod sentences;
pub mod side_prompt;
pub mod stream;
pub mod words;

pub use rejection::Rejection;
