//! What chats leave behind: sessions ([`SessionStore`]), answers and votes on them ([`FeedbackStore`]), interactions
//! ([`InteractionStore`]), and answers to give again ([`ResponseCache`]).
//!
//! Several servers may share [`Postgres`], and for sessions and the cache [`Redis`]. A single server can use
//! [`Embedded`], a file, and for sessions and the cache its memory. All backends of a store behave alike; the tests run
//! against all. In PostgreSQL and Redis, `stateNamespace` keeps servers apart.
//!
//! [`IndexCatalogue`] is what servers with one external vector engine know of its indexes. It is in [`Postgres`] only.
//!
//! [`SessionTokens`] reads what other programs keep in Redis.
//!
//! Every operation has a time limit of [`OPERATION_TIMEOUT`] or less and is counted in [`StoreMetrics`]. Expired rows
//! are never returned. The method `sweep` of each store deletes them; the server calls it every hour.

mod cache;
mod clock;
mod embedded;
mod error;
mod expiry;
mod fault;
mod feedback;
mod index_catalogue;
mod interactions;
mod metrics;
mod operation;
mod postgres;
mod redis;
mod remote;
mod session_tokens;
mod sessions;
mod vector;

pub use cache::{
    CacheKey, CachedAnswer, Epoch, Flight, Flights, Follower, KeyParts, LOOK_UP_TIMEOUT, Landed, Leader, LookUp,
    MAX_ANSWER_BYTES, ResponseCache, normalised,
};
pub use embedded::Embedded;
pub use error::StoreError;
pub use feedback::{Answer, ChunkVote, FeedbackStore, ListedVote, NewVote, Rating, VotePage, VoteQuery};
pub use index_catalogue::{Begun, CatalogueIndex, IndexCatalogue, NewIndex, Published, SourceSyncRow, Sweep, Swept};
pub use interactions::{Interaction, InteractionStore, Similar};
pub use metrics::StoreMetrics;
pub use operation::OPERATION_TIMEOUT;
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{Redis, RedisOptions};
pub use session_tokens::SessionTokens;
pub use sessions::{Joined, Newest, SessionKey, SessionStore, Turn};
