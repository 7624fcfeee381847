//! The server: retrieval-augmented chat over the OpenAI API, answered from FAISS indexes, with its sources.
//!
//! A request goes one way: [`router`] → [`http`] → [`chat`] or [`retrieve`] → [`embedding`], [`index`], [`llm`] → reply.
//! What the specifications define is in the crate `ragengine_pipeline`; this crate does the I/O around it.

pub mod admission;
pub mod app;
pub mod args;
pub mod blocking;
pub mod chat;
pub mod cli;
pub mod compute;
pub mod embedding;
pub mod error;
pub mod http;
pub mod index;
pub mod llm;
pub mod logging;
pub mod metrics;
pub mod middleware;
pub mod pages;
pub mod private;
pub mod question;
pub mod retrieve;
pub mod router;
pub mod search_pool;
pub mod secrets;
pub mod server;
pub mod write_token;
