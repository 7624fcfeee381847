//! The statements. Times are in milliseconds since 1970. Names are sorted by their bytes.

/// The columns of an index, and whether it is ready.
macro_rules! index {
    () => {
        "name, number, store_id, record, embedding, changes, state = 'ready'"
    };
}

/// The columns of the source's row `s` after its name.
macro_rules! sync {
    () => {
        "s.sync, (extract(epoch FROM s.began_at) * 1000)::bigint, (extract(epoch FROM s.leased_until) * 1000)::bigint"
    };
}

/// Parameters: engine. Of two transactions that begin an index, the second waits, so that it sees the row of the first.
pub(super) const LOCK: &str = "
SELECT pg_advisory_xact_lock(hashtextextended('ragengine_index_catalogue ' || $1, 0))";

/// Parameters: engine.
pub(super) const READY: &str = concat!(
    "SELECT ",
    index!(),
    " FROM ragengine_index_catalogue WHERE engine = $1 AND state = 'ready' ORDER BY name COLLATE \"C\""
);

/// Parameters: engine.
pub(super) const BEING_DELETED: &str = concat!(
    "SELECT ",
    index!(),
    " FROM ragengine_index_catalogue WHERE engine = $1 AND state = 'deleting' ORDER BY number"
);

/// Parameters: engine, name. Also finds an index that is being made.
pub(super) const FIND: &str = concat!(
    "SELECT ",
    index!(),
    " FROM ragengine_index_catalogue WHERE engine = $1 AND name = $2 AND state <> 'deleting'"
);

/// Parameters: engine, name, store, record, embedding, indexes at most. Inserts nothing if there are so many. The time
/// is that of the database, so that servers with other clocks begin with no earlier number.
pub(super) const INSERT: &str = concat!(
    "INSERT INTO ragengine_index_catalogue (engine, name, store_id, state, record, embedding, changes, created_at)
SELECT $1, $2, $3, 'creating', $4, $5, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, now()
WHERE (SELECT count(*) FROM ragengine_index_catalogue WHERE engine = $1 AND state <> 'deleting') < $6
RETURNING ",
    index!()
);

/// Parameters: engine, number.
pub(super) const FINISH: &str = "
UPDATE ragengine_index_catalogue SET state = 'ready' WHERE engine = $1 AND number = $2 AND state <> 'deleting'";

/// Parameters: engine, name.
pub(super) const BEGIN_DELETION: &str = concat!(
    "UPDATE ragengine_index_catalogue SET state = 'deleting'
WHERE engine = $1 AND name = $2 AND state <> 'deleting'
RETURNING ",
    index!()
);

/// Parameters: engine, number. The rows of its sources go with it.
pub(super) const FINISH_DELETION: &str = "
DELETE FROM ragengine_index_catalogue WHERE engine = $1 AND number = $2 AND state = 'deleting'";

/// Parameters: engine, number.
pub(super) const CHANGED: &str = "
UPDATE ragengine_index_catalogue SET changes = changes + 1
WHERE engine = $1 AND number = $2 AND state <> 'deleting'
RETURNING changes";

/// Parameters: engine, number.
pub(super) const SYNCS: &str = concat!(
    "SELECT s.source, ",
    sync!(),
    " FROM ragengine_source_sync s WHERE s.engine = $1 AND s.number = $2 ORDER BY s.source COLLATE \"C\""
);

/// Parameters: engine.
pub(super) const ALL_SYNCS: &str = concat!(
    "SELECT i.name, s.source, ",
    sync!(),
    " FROM ragengine_index_catalogue i
JOIN ragengine_source_sync s ON s.engine = i.engine AND s.number = i.number
WHERE i.engine = $1 AND i.state = 'ready'
ORDER BY i.name COLLATE \"C\", s.source COLLATE \"C\""
);

/// Parameters: engine, number, source. Locks the source's row until the transaction ends. If it is missing, it is added
/// without a state, and a second transaction waits for it, too. Returns nothing if the index is gone; otherwise it stays
/// until the transaction ends.
pub(super) const LOCK_SYNC: &str = concat!(
    "WITH index AS (
    SELECT engine, number FROM ragengine_index_catalogue
    WHERE engine = $1 AND number = $2 AND state <> 'deleting'
    FOR KEY SHARE
)
INSERT INTO ragengine_source_sync AS s (engine, number, source, began_at, created_at)
SELECT engine, number, $3, now(), now() FROM index
ON CONFLICT (engine, number, source) DO UPDATE SET sync = s.sync
RETURNING ",
    sync!()
);

/// Parameters: engine, number, source, state, beginning, end of the lease or null.
pub(super) const STORE_SYNC: &str = "
UPDATE ragengine_source_sync
SET sync = $4, began_at = to_timestamp($5::bigint / 1000.0), leased_until = to_timestamp($6::bigint / 1000.0)
WHERE engine = $1 AND number = $2 AND source = $3";

/// Parameters: engine, number, source.
pub(super) const FORGET_SYNC: &str = "
DELETE FROM ragengine_source_sync WHERE engine = $1 AND number = $2 AND source = $3";

/// Parameters: engine.
pub(super) const DATA_ID: &str = "SELECT id FROM ragengine_data WHERE engine = $1";

/// Parameters: engine. Returns the id. Makes it if it is missing.
pub(super) const MAKE_DATA_ID: &str = "
INSERT INTO ragengine_data AS d (engine, id, created_at) VALUES ($1, gen_random_uuid()::text, now())
ON CONFLICT (engine) DO UPDATE SET id = d.id
RETURNING id";

/// Parameters: engine, task, holder, time, end. Changes nothing if another one holds it.
pub(super) const TAKE_TURN: &str = "
INSERT INTO ragengine_task_turn AS t (engine, task, holder, held_until, created_at)
VALUES ($1, $2, $3, to_timestamp($5::bigint / 1000.0), now())
ON CONFLICT (engine, task) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
WHERE t.holder = excluded.holder OR t.held_until <= to_timestamp($4::bigint / 1000.0)";
