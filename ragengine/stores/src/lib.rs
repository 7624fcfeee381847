//! What chats leave behind: answers and votes on them ([`FeedbackStore`]), and interactions ([`InteractionStore`]).
//!
//! Each store has two backends: [`Postgres`], which several servers may share, and [`Embedded`], a file of one server.
//! Both behave alike; the tests run against both. In PostgreSQL, `stateNamespace` keeps the rows of servers apart.
//!
//! Every operation has a time limit of [`OPERATION_TIMEOUT`] and is counted in [`StoreMetrics`]. Expired rows are never
//! returned. [`FeedbackStore::sweep`] and [`InteractionStore::sweep`] delete them; the server calls both every hour.

mod clock;
mod embedded;
mod error;
mod expiry;
mod fault;
mod feedback;
mod interactions;
mod metrics;
mod operation;
mod postgres;
mod vector;

pub use embedded::Embedded;
pub use error::StoreError;
pub use feedback::{Answer, ChunkVote, FeedbackStore, ListedVote, NewVote, Rating, VotePage, VoteQuery};
pub use interactions::{Interaction, InteractionStore, Similar};
pub use metrics::StoreMetrics;
pub use operation::OPERATION_TIMEOUT;
pub use postgres::{Postgres, PostgresOptions};
