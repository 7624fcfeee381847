//! Embedding models: the server's model, and the models of older generations.

mod load;
mod older;
mod span;

pub use load::{LoadError, Loading, check_secrets, load};
pub use older::{Embeddings, ModelKey, Needed};
pub use span::in_embedding_span;
