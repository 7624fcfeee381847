//! The stores, with both backends: a file in a temporary folder, and a PostgreSQL server that the tests start.

#![expect(clippy::unwrap_used, reason = "tests")]

mod backends;
mod feedback;
mod interactions;
mod model;
mod outages;
mod shared;
mod test_postgres;
