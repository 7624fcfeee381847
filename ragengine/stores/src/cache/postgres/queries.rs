//! The statements. Times are in milliseconds since 1970.

/// The time of the database in microseconds, so that servers with other clocks make no earlier epoch.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}

/// Parameters: engine, index. Returns the epoch. Makes it if it is missing.
pub(super) const BEGIN: &str = concat!(
    "INSERT INTO ragengine_counter AS n (engine, index_name, changes, epoch, created_at)
VALUES ($1, $2, ",
    now!(),
    ", ",
    now!(),
    ", now())
ON CONFLICT (engine, index_name) DO UPDATE SET epoch = n.epoch
RETURNING epoch"
);

/// Parameters: engine, index.
pub(super) const EPOCH: &str = "SELECT epoch FROM ragengine_counter WHERE engine = $1 AND index_name = $2";

/// Parameters: engine, index, hash, time. Returns the epoch, and the answer and when it expires, or nulls.
pub(super) const LOOK_UP: &str = "
SELECT n.epoch, c.value, (extract(epoch FROM c.expires_at) * 1000)::bigint AS expires_at_ms
FROM ragengine_counter n LEFT JOIN ragengine_cache c
    ON c.engine = n.engine AND c.key = n.epoch || ':' || $3 AND c.expires_at > to_timestamp($4::bigint / 1000.0)
WHERE n.engine = $1 AND n.index_name = $2";

/// Parameters: engine, index, hash, epoch, answer, similarity, time, expiry. Stores nothing if the epoch is another.
pub(super) const STORE: &str = "
INSERT INTO ragengine_cache (engine, key, index_name, value, confidence, expires_at, created_at)
SELECT n.engine, n.epoch || ':' || $3, n.index_name, $5, $6, to_timestamp($8::bigint / 1000.0),
    to_timestamp($7::bigint / 1000.0)
FROM ragengine_counter n WHERE n.engine = $1 AND n.index_name = $2 AND n.epoch = $4
ON CONFLICT (engine, key) DO UPDATE SET value = excluded.value, confidence = excluded.confidence,
    expires_at = excluded.expires_at, created_at = excluded.created_at";

/// Parameters: engine, hash, epoch.
pub(super) const REMOVE: &str = "DELETE FROM ragengine_cache WHERE engine = $1 AND key = $3::bigint || ':' || $2";

/// Parameters: engine, index.
pub(super) const PURGE: &str = concat!(
    "INSERT INTO ragengine_counter AS n (engine, index_name, changes, epoch, created_at)
VALUES ($1, $2, ",
    now!(),
    ", ",
    now!(),
    ", now())
ON CONFLICT (engine, index_name) DO UPDATE SET epoch = greatest(n.epoch + 1, excluded.epoch)"
);

/// Parameters: engine, index. A later counter begins at a later time.
pub(super) const FORGET: &str = "DELETE FROM ragengine_counter WHERE engine = $1 AND index_name = $2";

/// Parameters: engine, index, rows at most. Deletes rows that are not of the index's epoch. Rows that another server
/// deletes at the same time are skipped.
pub(super) const DELETE_OLD: &str = "
DELETE FROM ragengine_cache WHERE engine = $1 AND key IN (
    SELECT c.key FROM ragengine_cache c
    LEFT JOIN ragengine_counter n ON n.engine = c.engine AND n.index_name = c.index_name
    WHERE c.engine = $1 AND c.index_name = $2
        AND (n.epoch IS NULL OR split_part(c.key, ':', 1) <> n.epoch::text)
    LIMIT $3
    FOR UPDATE OF c SKIP LOCKED
)";

/// Parameters: engine, time, rows at most.
pub(super) const SWEEP: &str = "
DELETE FROM ragengine_cache WHERE engine = $1 AND key IN (
    SELECT key FROM ragengine_cache WHERE engine = $1 AND expires_at <= to_timestamp($2::bigint / 1000.0)
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)";
