//! The statements. Times are in milliseconds since 1970. Names are sorted by their bytes.

/// The columns of an index, whether it is being changed, and whether it is ready. A change that began an hour ago was
/// interrupted.
macro_rules! index {
    () => {
        "name, number, store_id, record, embedding, changes,
    changing > 0 AND changing_since > now() - interval '1 hour', state = 'ready'"
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
    " FROM ragengine_index_catalogue WHERE engine = $1 AND name = $2 AND state IN ('creating', 'ready')"
);

/// Parameters: engine, name, store, record, embedding, indexes at most. Inserts nothing if there are so many. The time
/// is that of the database, so that servers with other clocks begin with no earlier number.
pub(super) const INSERT: &str = concat!(
    "INSERT INTO ragengine_index_catalogue (engine, name, store_id, state, record, embedding, changes, created_at)
SELECT $1, $2, $3, 'creating', $4, $5, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, now()
WHERE (SELECT count(*) FROM ragengine_index_catalogue WHERE engine = $1 AND state IN ('creating', 'ready')) < $6
RETURNING ",
    index!()
);

/// Parameters: engine, number.
pub(super) const FINISH: &str = "
UPDATE ragengine_index_catalogue SET state = 'ready'
WHERE engine = $1 AND number = $2 AND state IN ('creating', 'ready')";

/// Parameters: engine, name.
pub(super) const BEGIN_DELETION: &str = concat!(
    "UPDATE ragengine_index_catalogue SET state = 'deleting'
WHERE engine = $1 AND name = $2 AND state IN ('creating', 'ready')
RETURNING ",
    index!()
);

/// Parameters: engine, name, store, record, embedding.
pub(super) const STAGE: &str = concat!(
    "INSERT INTO ragengine_index_catalogue (engine, name, store_id, state, record, embedding, changes, created_at)
VALUES ($1, $2, $3, 'staging', $4, $5, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, now())
RETURNING ",
    index!()
);

/// Parameters: engine, number.
pub(super) const ABANDON: &str = "
UPDATE ragengine_index_catalogue SET state = 'deleting' WHERE engine = $1 AND number = $2 AND state = 'staging'";

/// Parameters: engine. No copy is read and no index is made for a week.
pub(super) const ABANDON_OLD: &str = "
UPDATE ragengine_index_catalogue SET state = 'deleting'
WHERE engine = $1 AND state IN ('staging', 'creating') AND created_at < now() - interval '7 days'";

/// Parameters: engine, numbers. The names of staged indexes that are there.
pub(super) const THERE: &str = "
SELECT i.name FROM ragengine_index_catalogue i
JOIN ragengine_index_catalogue s ON s.engine = i.engine AND s.name = i.name
WHERE i.engine = $1 AND i.state IN ('creating', 'ready') AND s.state = 'staging' AND s.number = ANY($2)
ORDER BY i.name COLLATE \"C\"";

/// Parameters: engine.
pub(super) const COUNT: &str = "
SELECT count(*) FROM ragengine_index_catalogue WHERE engine = $1 AND state IN ('creating', 'ready')";

/// Parameters: engine, numbers. Those that staged indexes replace are being deleted from now on.
pub(super) const REPLACE: &str = concat!(
    "UPDATE ragengine_index_catalogue SET state = 'deleting'
WHERE engine = $1 AND state IN ('creating', 'ready')
    AND name IN (SELECT name FROM ragengine_index_catalogue WHERE engine = $1 AND number = ANY($2))
RETURNING ",
    index!()
);

/// Parameters: engine, numbers.
pub(super) const PUBLISH: &str = "
UPDATE ragengine_index_catalogue SET state = 'ready' WHERE engine = $1 AND state = 'staging' AND number = ANY($2)";

/// Parameters: engine, number.
pub(super) const IS_KEPT: &str = "
SELECT EXISTS (SELECT FROM ragengine_index_catalogue WHERE engine = $1 AND number = $2 AND state <> 'deleting')";

/// Parameters: engine, number. The rows of its sources go with it.
pub(super) const FINISH_DELETION: &str = "
DELETE FROM ragengine_index_catalogue WHERE engine = $1 AND number = $2 AND state = 'deleting'";

/// The next number of a change.
macro_rules! next_change {
    () => {
        "changes = greatest(changes + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    };
}

/// Parameters: engine, number.
pub(super) const BEGIN_CHANGE: &str = concat!(
    "UPDATE ragengine_index_catalogue SET ",
    next_change!(),
    ", changing = CASE WHEN changing > 0 AND changing_since > now() - interval '1 hour' THEN changing + 1 ELSE 1 END,
    changing_since = CASE WHEN changing > 0 AND changing_since > now() - interval '1 hour' THEN changing_since
        ELSE now() END
WHERE engine = $1 AND number = $2 AND state <> 'deleting'"
);

/// Parameters: engine, number.
pub(super) const END_CHANGE: &str = concat!(
    "UPDATE ragengine_index_catalogue SET ",
    next_change!(),
    ", changing = greatest(changing - 1, 0)
WHERE engine = $1 AND number = $2 AND state <> 'deleting'"
);

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

/// Parameters: engine, number, milliseconds between sweeps. Returns for how many milliseconds the index has had no
/// document, or null. A time in the future is from a clock that was wrong.
pub(super) const BEGIN_SWEEP: &str = "
UPDATE ragengine_index_catalogue SET swept_at = now()
WHERE engine = $1 AND number = $2 AND state = 'ready'
    AND (swept_at IS NULL OR swept_at > now() OR swept_at <= now() - $3::bigint * interval '1 millisecond')
RETURNING (extract(epoch FROM now() - without_documents_since) * 1000)::bigint";

/// Parameters: engine, number.
pub(super) const END_SWEEP: &str = "
UPDATE ragengine_index_catalogue SET without_documents_since = NULL WHERE engine = $1 AND number = $2";

/// Parameters: engine, number.
pub(super) const END_SWEEP_WITHOUT_DOCUMENTS: &str = "
UPDATE ragengine_index_catalogue SET without_documents_since = coalesce(without_documents_since, now())
WHERE engine = $1 AND number = $2";

/// Parameters: engine, number.
pub(super) const REPEAT_SWEEP: &str = "
UPDATE ragengine_index_catalogue SET swept_at = NULL WHERE engine = $1 AND number = $2";
