-- Sessions and their turns. A turn's number is taken from `seq` when its question arrives. Turns up to `cleared` are
-- deleted, also those that are not there yet.

CREATE TABLE ragengine_session (
    engine text NOT NULL,
    owner text NOT NULL,
    id text NOT NULL,
    seq bigint NOT NULL,
    cleared bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, owner, id)
);
-- For deleting expired rows.
CREATE INDEX ragengine_session_by_expiry ON ragengine_session (engine, expires_at);

CREATE TABLE ragengine_turn (
    engine text NOT NULL,
    owner text NOT NULL,
    id text NOT NULL,
    seq bigint NOT NULL,
    question text NOT NULL,
    answer text NOT NULL,
    sources text NOT NULL,
    response_time_ms bigint NOT NULL,
    model text,
    answer_id text,
    complete boolean NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, owner, id, seq),
    FOREIGN KEY (engine, owner, id) REFERENCES ragengine_session (engine, owner, id) ON DELETE CASCADE
);
