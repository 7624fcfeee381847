//! The statements. Times are in milliseconds since 1970. Texts are sorted by their bytes, as in the other backend.

/// The answer `a` and its lock, unless it is another owner's or has expired.
macro_rules! answer_of_owner {
    () => {
        "FROM ragengine_answer a
WHERE a.engine = $1 AND a.id = $2 AND a.owner = $3
    AND coalesce(
        (SELECT max(v.created_at) > to_timestamp($5::bigint / 1000.0)
        FROM ragengine_vote v WHERE v.engine = $1 AND v.answer_id = $2),
        a.created_at > to_timestamp($4::bigint / 1000.0))
FOR UPDATE OF a"
    };
}

/// Whether the vote `v` or another one on its answer is later than this parameter.
macro_rules! voted_after {
    ($cutoff_ms:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM ragengine_vote w WHERE w.engine = $1 AND w.answer_id = v.answer_id
    AND w.created_at > to_timestamp(",
            $cutoff_ms,
            "::bigint / 1000.0))"
        )
    };
}

/// The votes `v` of a list and their answers `a`.
macro_rules! listed_votes {
    () => {
        concat!(
            "FROM ragengine_vote v
JOIN ragengine_answer a ON a.engine = v.engine AND a.id = v.answer_id
WHERE v.engine = $1 AND ($2::text IS NULL OR a.index_name = $2) AND ($3::text IS NULL OR v.voter = $3) AND ",
            voted_after!("$4")
        )
    };
}

/// Parameters: the columns.
pub(super) const INSERT_ANSWER: &str = "
INSERT INTO ragengine_answer
    (engine, id, owner, index_name, question, fingerprint, vector, node_ids, cache_key, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, to_timestamp($10::bigint / 1000.0))
ON CONFLICT DO NOTHING";

/// Parameters: engine, answer, owner, cutoff of answers without votes, cutoff of votes. The lock is held until the
/// transaction ends.
pub(super) const LOCK_ANSWER: &str = concat!("SELECT a.id ", answer_of_owner!());

/// Parameters: as for [`LOCK_ANSWER`], then voter, rating, comment, time. Returns the number of answers voted on.
pub(super) const VOTE: &str = concat!(
    "WITH answer AS (SELECT a.* ",
    answer_of_owner!(),
    "), vote AS (
    INSERT INTO ragengine_vote (engine, answer_id, voter, rating, comment, created_at)
    SELECT engine, id, $6, $7, $8, to_timestamp($9::bigint / 1000.0) FROM answer
    ON CONFLICT (engine, answer_id, voter) DO UPDATE
    SET rating = excluded.rating, comment = excluded.comment, created_at = excluded.created_at
), chunk AS (
    INSERT INTO ragengine_voted_chunk (engine, index_name, node_id, answer_id, created_at)
    SELECT engine, index_name, node_id, id, created_at FROM answer, unnest(node_ids) AS node_id
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM answer"
);

/// Parameters: engine, answer, voter.
pub(super) const DELETE_VOTE: &str = "
DELETE FROM ragengine_vote WHERE engine = $1 AND answer_id = $2 AND voter = $3";

/// Parameters: engine, answer. The answer must be locked, so that no vote is added at the same time.
pub(super) const FORGET_CHUNKS_WITHOUT_VOTES: &str = "
DELETE FROM ragengine_voted_chunk
WHERE engine = $1 AND answer_id = $2
    AND NOT EXISTS (SELECT 1 FROM ragengine_vote WHERE engine = $1 AND answer_id = $2)";

/// Parameters: engine, index or null, voter or null, cutoff of votes.
pub(super) const COUNT_VOTES: &str = concat!("SELECT count(*) ", listed_votes!());

/// Parameters: as for [`COUNT_VOTES`], then limit and offset.
pub(super) const LIST_VOTES: &str = concat!(
    "SELECT v.answer_id, v.rating = 'up', v.voter, v.comment,
    (extract(epoch FROM v.created_at) * 1000)::bigint, a.index_name ",
    listed_votes!(),
    " ORDER BY v.created_at DESC, v.answer_id COLLATE \"C\", v.voter COLLATE \"C\" LIMIT $5 OFFSET $6"
);

/// Parameters: engine, index, chunks, cutoff of votes, limit. The vote itself is nearly always late enough; otherwise the
/// others on its answer are looked up.
pub(super) const VOTES_ON: &str = concat!(
    "SELECT c.node_id, v.answer_id, v.voter, v.rating = 'up', (extract(epoch FROM v.created_at) * 1000)::bigint
FROM ragengine_voted_chunk c
JOIN ragengine_vote v ON v.engine = c.engine AND v.answer_id = c.answer_id
WHERE c.engine = $1 AND c.index_name = $2 AND c.node_id = ANY($3)
    AND (v.created_at > to_timestamp($4::bigint / 1000.0) OR ",
    voted_after!("$4"),
    ") ORDER BY v.created_at DESC, v.answer_id COLLATE \"C\", v.voter COLLATE \"C\", c.node_id COLLATE \"C\" LIMIT $5"
);

/// Parameters: engine, answers, fingerprint.
pub(super) const VECTORS: &str = "
SELECT id, vector FROM ragengine_answer WHERE engine = $1 AND id = ANY($2) AND fingerprint = $3";

/// Parameters: engine, answer, owner.
pub(super) const INDEX_OF: &str =
    "SELECT index_name FROM ragengine_answer WHERE engine = $1 AND id = $2 AND owner = $3";

/// Parameters: engine, answer.
pub(super) const CACHE_KEY: &str = "SELECT cache_key FROM ragengine_answer WHERE engine = $1 AND id = $2";

/// Parameters: engine, earliest time of a vote, votes at most, end of the key in the response cache.
pub(super) const WAS_VOTED_DOWN: &str = "
SELECT EXISTS (
    SELECT 1 FROM (
        SELECT answer_id, rating FROM ragengine_vote
        WHERE engine = $1 AND created_at >= to_timestamp($2::bigint / 1000.0)
        ORDER BY created_at DESC LIMIT $3
    ) v
    JOIN ragengine_answer a ON a.engine = $1 AND a.id = v.answer_id
    WHERE v.rating = 'down' AND right(a.cache_key, length($4)) = $4)";

/// Parameters: engine, answers, cutoff of votes.
pub(super) const RATINGS: &str = concat!(
    "SELECT v.answer_id, count(*) FILTER (WHERE v.rating = 'up'), count(*) FILTER (WHERE v.rating = 'down')
FROM ragengine_vote v
WHERE v.engine = $1 AND v.answer_id = ANY($2) AND ",
    voted_after!("$3"),
    " GROUP BY v.answer_id"
);

/// Parameters: engine, cutoff of answers without votes, cutoff of votes, limit, answers without votes at most. Votes and
/// chunks go with their answers.
/// Answers that another server deletes or votes on at the same time are skipped.
pub(super) const SWEEP: &str = "
WITH expired AS (
    (SELECT o.id FROM ragengine_answer o
    WHERE o.engine = $1 AND o.created_at <= to_timestamp($2::bigint / 1000.0)
        AND NOT EXISTS (SELECT 1 FROM ragengine_vote v WHERE v.engine = $1 AND v.answer_id = o.id)
    LIMIT $4)
    UNION
    (SELECT o.answer_id FROM ragengine_vote o
    WHERE o.engine = $1 AND o.created_at <= to_timestamp($3::bigint / 1000.0)
        AND NOT EXISTS (
            SELECT 1 FROM ragengine_vote v
            WHERE v.engine = $1 AND v.answer_id = o.answer_id
                AND v.created_at > to_timestamp($3::bigint / 1000.0))
    LIMIT $4)
    UNION
    (SELECT o.id FROM ragengine_answer o
    WHERE o.engine = $1
        AND NOT EXISTS (SELECT 1 FROM ragengine_vote v WHERE v.engine = $1 AND v.answer_id = o.id)
    ORDER BY o.created_at DESC, o.id DESC OFFSET $5 LIMIT $4)
), locked AS MATERIALIZED (
    SELECT a.id FROM ragengine_answer a WHERE a.engine = $1 AND a.id IN (SELECT id FROM expired)
    FOR UPDATE SKIP LOCKED
)
DELETE FROM ragengine_answer WHERE engine = $1 AND id IN (SELECT id FROM locked)";
