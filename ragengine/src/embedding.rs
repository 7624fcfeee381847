//! The embedding models: the one in use, and those of older generations.

mod load;
mod older;

pub use load::{LoadError, Loading, check_secrets, load};
pub use older::{Embeddings, ModelKey, Needed};
