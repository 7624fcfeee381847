-- The indexes on an external vector engine, which servers share, and what they agree on. One in the state `staging` is
-- being made from a copy, and replaces that of its name when it is complete.

-- `record` and `embedding` are JSON. `changes` is at least the time in microseconds of the latest change, so that no
-- number comes twice when an index is deleted and made again, or a backup of this database is restored. `changing` is
-- how many changes are being made, and `changing_since` since when there are any: a server may have been killed.
CREATE TABLE ragengine_index_catalogue (
    engine text NOT NULL,
    name text NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    store_id text NOT NULL,
    state text NOT NULL CHECK (state IN ('staging', 'creating', 'ready', 'deleting')),
    record text NOT NULL,
    embedding text,
    changes bigint NOT NULL,
    changing integer NOT NULL DEFAULT 0,
    changing_since timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, number)
);
-- An index may be made again while the former one of its name is being deleted, and from a copy while it is there.
CREATE UNIQUE INDEX ragengine_index_catalogue_by_name ON ragengine_index_catalogue (engine, name)
    WHERE state IN ('creating', 'ready');

-- How far the sources of an index are synchronised. `sync` is JSON, and null only in the transaction that adds the row.
CREATE TABLE ragengine_source_sync (
    engine text NOT NULL,
    number bigint NOT NULL,
    source text NOT NULL,
    sync text,
    began_at timestamptz NOT NULL,
    leased_until timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, number, source),
    FOREIGN KEY (engine, number) REFERENCES ragengine_index_catalogue (engine, number) ON DELETE CASCADE
);

-- The id of an engine's data.
CREATE TABLE ragengine_data (
    engine text NOT NULL,
    id text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine)
);

-- Which server does a task that only one of them may do at a time.
CREATE TABLE ragengine_task_turn (
    engine text NOT NULL,
    task text NOT NULL,
    holder text NOT NULL,
    held_until timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, task)
);
