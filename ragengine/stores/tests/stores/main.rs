//! The stores, with all backends: memory, a file in a temporary folder, and a PostgreSQL and a Redis server that the
//! tests start.

#![expect(clippy::unwrap_used, reason = "tests")]

mod backends;
mod cache;
mod cache_backends;
mod cache_model;
mod cache_outages;
mod catalogue;
mod catalogue_syncs;
mod feedback;
mod interactions;
mod model;
mod outages;
mod redis_outages;
mod session_backends;
mod session_model;
mod session_times;
mod session_tokens;
mod sessions;
mod shared;
mod shared_cache;
mod shared_catalogue;
mod shared_sessions;
mod test_postgres;
mod test_redis;
