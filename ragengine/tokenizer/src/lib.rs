//! Counts tokens as the served language model does.
//!
//! ```text
//! Tokenizer ── one of three
//!   ├─ served ── the model's own tokenizer.json, and its chat template
//!   │    └─ template ── Jinja, with the extensions of transformers
//!   ├─ openai ── the encodings of OpenAI's models, by the model's name
//!   └─ estimate ── three bytes per token, an upper estimate
//! ```
//!
//! All functions are synchronous, and nothing is downloaded.

mod error;
mod estimate;
mod kind;
mod openai;
mod served;
mod template;
mod tokenizer;

pub use error::Error;
pub use estimate::{conversation, estimate};
pub use kind::Kind;
pub use openai::window::openai_window;
pub use tokenizer::Tokenizer;
