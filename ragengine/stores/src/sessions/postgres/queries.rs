//! The statements. Times are in milliseconds since 1970.

/// The newest turns of a session that is a row `session` with its `cleared` and its `before` (a number), the newest
/// first, each with the bytes of it and of all newer ones.
macro_rules! newest {
    ($sources:literal, $bytes:literal, $limit:literal) => {
        concat!(
            "SELECT t.seq, t.question, t.answer, ",
            $sources,
            " AS sources, t.response_time_ms, t.model, t.answer_id, t.complete,
        (extract(epoch FROM t.created_at) * 1000)::bigint AS created_at_ms,
        sum(octet_length(t.question) + octet_length(t.answer)",
            $bytes,
            ") OVER (ORDER BY t.seq DESC) AS bytes
    FROM session JOIN LATERAL (
        SELECT * FROM ragengine_turn o
        WHERE o.engine = $1 AND o.owner = $2 AND o.id = $3 AND o.seq > session.cleared AND o.seq < session.before
        ORDER BY o.seq DESC LIMIT ",
            $limit,
            "
    ) t ON true"
        )
    };
}

/// Parameters: engine, owner, session, time, expiry, turns, bytes, first number of a new session. Takes the next number,
/// and returns it in each row with the newest turns, or with nulls if there are none. An expired session begins again
/// with the first number, without its turns. Two that take a number at the same time get different ones: the second
/// waits for the row of the first.
pub(super) const JOIN: &str = concat!(
    "WITH session AS (
    INSERT INTO ragengine_session AS s (engine, owner, id, seq, cleared, expires_at, created_at)
    VALUES ($1, $2, $3, $8, 0, to_timestamp($5::bigint / 1000.0), to_timestamp($4::bigint / 1000.0))
    ON CONFLICT (engine, owner, id) DO UPDATE
    SET seq = CASE WHEN s.expires_at <= excluded.created_at THEN excluded.seq ELSE s.seq + 1 END,
        cleared = CASE WHEN s.expires_at <= excluded.created_at THEN 0 ELSE s.cleared END,
        created_at = CASE WHEN s.expires_at <= excluded.created_at THEN excluded.created_at ELSE s.created_at END,
        expires_at = excluded.expires_at
    RETURNING s.seq AS before, s.cleared
), gone AS (
    DELETE FROM ragengine_turn t USING session
    WHERE session.before = $8 AND t.engine = $1 AND t.owner = $2 AND t.id = $3
), turn AS (",
    newest!("''", "", "$6"),
    " WHERE session.before <> $8
)
SELECT session.before, turn.seq, turn.question, turn.answer, turn.sources, turn.response_time_ms, turn.model,
    turn.answer_id, turn.complete, turn.created_at_ms
FROM session LEFT JOIN turn ON turn.bytes <= $7
ORDER BY turn.seq"
);

/// Parameters: engine, owner, session, time, turns, bytes.
pub(super) const HISTORY: &str = concat!(
    "WITH session AS (
    SELECT cleared, 9223372036854775807 AS before FROM ragengine_session
    WHERE engine = $1 AND owner = $2 AND id = $3 AND expires_at > to_timestamp($4::bigint / 1000.0)
), turn AS (",
    newest!(
        "t.sources",
        " + octet_length(t.sources) + coalesce(octet_length(t.model), 0) + coalesce(octet_length(t.answer_id), 0)",
        "$5"
    ),
    ")
SELECT seq, question, answer, sources, response_time_ms, model, answer_id, complete, created_at_ms
FROM turn WHERE bytes <= $6 ORDER BY seq"
);

/// Parameters: engine, owner, session, time, expiry, turns at most, then the columns of the turn from `seq`. Returns
/// whether the turn is kept, and whether there may be too many; nothing if the session is unknown or has expired.
pub(super) const ADD: &str = "
WITH session AS (
    UPDATE ragengine_session
    SET seq = greatest(seq, $7), expires_at = to_timestamp($5::bigint / 1000.0)
    WHERE engine = $1 AND owner = $2 AND id = $3 AND expires_at > to_timestamp($4::bigint / 1000.0)
    RETURNING cleared < $7 AS keeps, seq AS latest
), turn AS (
    INSERT INTO ragengine_turn (engine, owner, id, seq, question, answer, sources, response_time_ms, model, answer_id,
        complete, created_at)
    SELECT $1, $2, $3, $7, $8, $9, $10, $11, $12, $13, $14, to_timestamp($15::bigint / 1000.0)
    FROM session WHERE keeps
    ON CONFLICT (engine, owner, id, seq) DO UPDATE
    SET question = excluded.question, answer = excluded.answer, sources = excluded.sources,
        response_time_ms = excluded.response_time_ms, model = excluded.model, answer_id = excluded.answer_id,
        complete = excluded.complete, created_at = excluded.created_at
)
SELECT keeps, keeps AND EXISTS (
    SELECT 1 FROM ragengine_turn t WHERE t.engine = $1 AND t.owner = $2 AND t.id = $3 AND t.seq <= latest - $6
)
FROM session";

/// Parameters: engine, owner, session, turns at most. Deletes the oldest if there are more. As an expression, the inner
/// query is run once; as a table, it may be run for each turn.
pub(super) const SHORTEN: &str = "
DELETE FROM ragengine_turn
WHERE engine = $1 AND owner = $2 AND id = $3 AND seq <= (
    SELECT seq FROM ragengine_turn WHERE engine = $1 AND owner = $2 AND id = $3
    ORDER BY seq DESC OFFSET $4 LIMIT 1
)";

/// Parameters: engine, owner, session, time. Its turns go with it.
pub(super) const DELETE_EXPIRED: &str = "
DELETE FROM ragengine_session
WHERE engine = $1 AND owner = $2 AND id = $3 AND expires_at <= to_timestamp($4::bigint / 1000.0)";

/// Parameters: engine, owner, session, time, expiry, number.
pub(super) const BEGIN: &str = "
INSERT INTO ragengine_session (engine, owner, id, seq, cleared, expires_at, created_at)
VALUES ($1, $2, $3, $6, 0, to_timestamp($5::bigint / 1000.0), to_timestamp($4::bigint / 1000.0))
ON CONFLICT DO NOTHING";

/// Parameters: engine, owner, session, time, expiry. Returns the latest number. From now on, turns up to it are neither
/// listed nor added.
pub(super) const CLEAR: &str = "
UPDATE ragengine_session SET cleared = seq, expires_at = to_timestamp($5::bigint / 1000.0)
WHERE engine = $1 AND owner = $2 AND id = $3 AND expires_at > to_timestamp($4::bigint / 1000.0)
RETURNING cleared";

/// Parameters: engine, owner, session, the last number.
pub(super) const DELETE_TURNS: &str = "
DELETE FROM ragengine_turn WHERE engine = $1 AND owner = $2 AND id = $3 AND seq <= $4";

/// Parameters: engine, time, sessions at most, turns at most. Deletes turns of expired sessions, and the sessions if
/// none of their turns is left. Returns the numbers of both. Sessions that another server uses or deletes at the same
/// time are skipped.
pub(super) const SWEEP: &str = "
WITH expired AS MATERIALIZED (
    SELECT owner, id FROM ragengine_session
    WHERE engine = $1 AND expires_at <= to_timestamp($2::bigint / 1000.0)
    LIMIT $3
    FOR UPDATE SKIP LOCKED
), turn AS (
    DELETE FROM ragengine_turn WHERE engine = $1 AND (owner, id, seq) IN (
        SELECT t.owner, t.id, t.seq FROM expired e
        JOIN ragengine_turn t ON t.engine = $1 AND t.owner = e.owner AND t.id = e.id
        LIMIT $4
    )
    RETURNING 1
), session AS (
    DELETE FROM ragengine_session
    WHERE engine = $1 AND (owner, id) IN (SELECT owner, id FROM expired) AND (SELECT count(*) FROM turn) < $4
    RETURNING 1
)
SELECT (SELECT count(*) FROM turn), (SELECT count(*) FROM session)";
