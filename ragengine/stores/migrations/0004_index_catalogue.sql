-- The indexes on an external vector engine, which servers share, and what they agree on.

-- `number` names an index in the vector engine. `record` and `embedding` are JSON. `changes` begins at the time in
-- microseconds, so that no number comes twice when an index is deleted and made again.
CREATE TABLE ragengine_index_catalogue (
    engine text NOT NULL,
    name text NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    store_id text NOT NULL,
    state text NOT NULL CHECK (state IN ('creating', 'ready', 'deleting')),
    record text NOT NULL,
    embedding text,
    changes bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, number)
);
-- An index may be made again while the former one of its name is being deleted.
CREATE UNIQUE INDEX ragengine_index_catalogue_by_name ON ragengine_index_catalogue (engine, name)
    WHERE state <> 'deleting';

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
