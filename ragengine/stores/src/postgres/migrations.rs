//! The tables, as numbered migrations. Each is run once, under a lock in the database, so that several servers can
//! start at the same time. A migration that was released is never changed. The servers of the version before run on it
//! until they are replaced, so it leaves them what they use.

use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection, SqlSafeStr as _};
use tokio::time::timeout;

use super::failure;
use crate::remote::Failure;

/// The time for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for waiting for another server's migrations and for running ours.
const MIGRATE_TIMEOUT: Duration = Duration::from_secs(70);

/// Limits a statement of a migration to 60 s, and the wait for another server's lock to 10 s.
const LIMITS: &str = "SET statement_timeout = 60000; SET lock_timeout = 10000";

/// The table of the migrations that were run.
const TABLE: &str = "ragengine_migration";

fn migrator() -> Migrator {
    let simple = |version, description: &'static str, sql: &'static str| {
        Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let mut migrator = Migrator::with_migrations(vec![
        simple(1, "feedback and interactions", include_str!("../../migrations/0001_feedback_and_interactions.sql")),
        simple(2, "sessions", include_str!("../../migrations/0002_sessions.sql")),
        simple(3, "response cache", include_str!("../../migrations/0003_response_cache.sql")),
        simple(4, "index catalogue", include_str!("../../migrations/0004_index_catalogue.sql")),
        simple(5, "sweeps", include_str!("../../migrations/0005_sweeps.sql")),
    ]);
    migrator.dangerous_set_table_name(TABLE);
    migrator
}

/// Connects and runs the migrations that are missing. Tables of a newer version are a failure, unless they
/// `may_be_newer`.
pub(super) async fn migrate(options: &PgConnectOptions, may_be_newer: bool) -> Result<(), Failure> {
    let mut connection = match timeout(CONNECT_TIMEOUT, options.connect()).await {
        Ok(connected) => connected.map_err(|error| failure::of(&error))?,
        Err(_) => return Err(Failure::no_answer(CONNECT_TIMEOUT)),
    };
    let migrated = timeout(MIGRATE_TIMEOUT, run(&mut connection, may_be_newer)).await;
    // The database releases the lock of a connection that is gone, also after an error.
    if timeout(CONNECT_TIMEOUT, connection.close()).await.is_err() {
        tracing::debug!("the connection for migrations was not closed in time");
    }
    match migrated {
        Ok(result) => result.map_err(|error| of_migration(&error)),
        Err(_) => Err(Failure::no_answer(MIGRATE_TIMEOUT)),
    }
}

async fn run(connection: &mut PgConnection, may_be_newer: bool) -> Result<(), MigrateError> {
    connection.execute(LIMITS).await?;
    migrator().set_ignore_missing(may_be_newer).run_direct(None, connection, false).await
}

fn of_migration(error: &MigrateError) -> Failure {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => failure::of(error),
        // A released migration does not change, so the other one is of a version that we do not know.
        MigrateError::VersionMissing(_) | MigrateError::VersionMismatch(_) => Failure::NewerSchema("postgres.url"),
        MigrateError::Dirty(version) => Failure::Other(format!("migration {version} was not finished")),
        _ => Failure::Other("the tables could not be migrated".to_owned()),
    }
}
