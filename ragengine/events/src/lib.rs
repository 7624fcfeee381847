//! Events about chats, published on RabbitMQ: [`QuerySubmitted`] and [`ResponseGenerated`].
//!
//! [`Events::publish`] puts an event into a buffer and returns at once. A background task sends the buffer's events to
//! a durable topic exchange, and removes each when the server has confirmed it. When the connection is lost, those
//! without a confirmation are sent again with the next one. So a consumer may see an event twice, with the same id.
//! When too much waits, the oldest events are dropped and counted in [`EventMetrics`].
//!
//! The body of a message has the fields of its event. The attributes of CloudEvents 1.0 are in its headers.
//!
//! # The client
//!
//! The client is `lapin`. Its errors have the server's codes, and each confirmation is a future. `amqprs` is smaller, but
//! it has texts and callbacks instead, and encryption brings a built-in list of certificates. With its own TLS, lapin
//! would bring two dozen crates more, for example for PKCS #12. So the module `link` gives it a stream that is encrypted
//! by the workspace's own rustls. It runs a separate thread for each connection.

mod backoff;
mod buffer;
mod error;
mod event;
mod events;
mod failure;
mod link;
mod message;
mod metrics;
mod options;
mod sender;
mod state;

pub use error::EventsError;
pub use event::{Event, QuerySubmitted, ResponseGenerated};
pub use events::Events;
pub use metrics::EventMetrics;
pub use options::EventOptions;
