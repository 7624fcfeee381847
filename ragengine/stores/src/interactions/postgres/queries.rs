//! The statements. Times are in milliseconds since 1970. Ids are sorted by their bytes, as in the other backend.

/// Parameters: engine, owner. Of two transactions that change an owner's interactions, the second waits, so that it
/// counts the row of the first.
pub(super) const LOCK_OWNER: &str = "
SELECT pg_advisory_xact_lock(hashtextextended('ragengine_interaction ' || $1 || ' ' || $2, 0))";

/// Parameters: the columns.
pub(super) const INSERT: &str = "
INSERT INTO ragengine_interaction
    (engine, owner, id, index_name, fingerprint, vector, user_input, ai_response, ai_provider, task_category, node_ids,
    created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, to_timestamp($12::bigint / 1000.0))
ON CONFLICT (engine, owner, id) DO UPDATE
SET index_name = excluded.index_name, fingerprint = excluded.fingerprint, vector = excluded.vector,
    user_input = excluded.user_input, ai_response = excluded.ai_response, ai_provider = excluded.ai_provider,
    task_category = excluded.task_category, node_ids = excluded.node_ids, created_at = excluded.created_at";

/// Parameters: engine, owner, the number of rows that stay.
pub(super) const DELETE_OLDEST: &str = "
DELETE FROM ragengine_interaction
WHERE engine = $1 AND owner = $2 AND id IN (
    SELECT id FROM ragengine_interaction WHERE engine = $1 AND owner = $2
    ORDER BY created_at DESC, id COLLATE \"C\" DESC OFFSET $3)";

/// Parameters: engine, owner, index, fingerprint, cutoff, provider or null.
pub(super) const VECTORS: &str = "
SELECT id, vector FROM ragengine_interaction
WHERE engine = $1 AND owner = $2 AND index_name = $3 AND fingerprint = $4
    AND created_at > to_timestamp($5::bigint / 1000.0) AND ($6::text IS NULL OR ai_provider = $6)";

/// Parameters: engine, owner, ids.
pub(super) const ROWS: &str = "
SELECT id, user_input, ai_response, ai_provider, task_category, node_ids,
    (extract(epoch FROM created_at) * 1000)::bigint
FROM ragengine_interaction WHERE engine = $1 AND owner = $2 AND id = ANY($3)";

/// Parameters: engine, owner, providers, cutoff.
pub(super) const IDS_OF_PROVIDERS: &str = "
SELECT ai_provider, array_agg(id ORDER BY id COLLATE \"C\") FROM ragengine_interaction
WHERE engine = $1 AND owner = $2 AND ai_provider = ANY($3) AND created_at > to_timestamp($4::bigint / 1000.0)
GROUP BY ai_provider";

/// Parameters: engine, owner.
pub(super) const DELETE_ALL: &str = "DELETE FROM ragengine_interaction WHERE engine = $1 AND owner = $2";

/// Parameters: engine, cutoff, limit. Interactions that another server deletes at the same time are skipped.
pub(super) const SWEEP: &str = "
WITH locked AS MATERIALIZED (
    SELECT owner, id FROM ragengine_interaction
    WHERE engine = $1 AND created_at <= to_timestamp($2::bigint / 1000.0)
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
DELETE FROM ragengine_interaction WHERE engine = $1 AND (owner, id) IN (SELECT owner, id FROM locked)";
