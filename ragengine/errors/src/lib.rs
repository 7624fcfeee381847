//! Common properties of the server's errors: the class, the name in labels, the time to retry, and the message for the
//! log. Protocols such as HTTP map classes to statuses, so that they need not know the errors of each module.

mod class;
mod fault;
mod logged;
pub mod texts;

pub use class::Class;
pub use fault::{Fault, RetryAfter};
pub use logged::Logged;
