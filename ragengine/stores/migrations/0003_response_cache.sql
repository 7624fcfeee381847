-- Answers that are given again to the same question, and a counter for each index.

-- A key is the index's epoch and a hash: `EPOCH:HASH`. Rows of earlier epochs are not read any more.
CREATE TABLE ragengine_cache (
    engine text NOT NULL,
    key text NOT NULL,
    index_name text NOT NULL,
    value bytea NOT NULL,
    confidence real NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, key)
);
-- For deleting expired rows.
CREATE INDEX ragengine_cache_by_expiry ON ragengine_cache (engine, expires_at);
-- For deleting the rows of an index.
CREATE INDEX ragengine_cache_by_index ON ragengine_cache (engine, index_name);

-- Both numbers begin at the time in microseconds, so that no number comes twice when a row is lost or deleted.
CREATE TABLE ragengine_counter (
    engine text NOT NULL,
    index_name text NOT NULL,
    changes bigint NOT NULL,
    epoch bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, index_name)
);
