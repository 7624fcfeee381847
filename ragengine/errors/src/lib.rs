//! What every error of the server says of itself: of which class it is, its name in labels, when to try again, and which of its words may be in
//! the log. HTTP and every other protocol map classes; none knows the errors of the modules.

mod class;
mod fault;
mod logged;
pub mod texts;

pub use class::Class;
pub use fault::{Fault, RetryAfter};
pub use logged::Logged;
