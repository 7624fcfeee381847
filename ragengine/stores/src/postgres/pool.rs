use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Executor as _};

/// Connections at most.
const MAX_CONNECTIONS: u32 = 10;

/// The time for getting a connection, which includes making one.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection that was not used for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Limits every statement to 5 s, so that the database does not work for callers who stopped waiting long ago. Without
/// compilation to machine code, which takes longer than our statements.
const SESSION: &str = "SET statement_timeout = 5000; SET jit = off";

/// Makes connections when they are needed.
pub(super) fn pool(options: &PgConnectOptions) -> PgPool {
    let pool = PgPoolOptions::new()
        .max_connections(MAX_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(IDLE_TIMEOUT)
        .after_connect(|connection, _| Box::pin(async move { connection.execute(SESSION).await.map(drop) }));
    pool.connect_lazy_with(options.clone().disable_statement_logging())
}
