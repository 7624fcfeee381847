//! Counting tokens as the served language model does.
//!
//! ```text
//! Tokenizer ── one of three
//!   ├─ served ── the model's own tokenizer.json, and its chat template
//!   │    └─ template ── Jinja, with what transformers adds to it
//!   ├─ openai ── the encodings of OpenAI's models, by the model's name
//!   └─ estimate ── three bytes a token, which is on the safe side
//! ```
//!
//! Everything is synchronous, and nothing is fetched.

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
