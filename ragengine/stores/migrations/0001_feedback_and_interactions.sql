-- Vectors are 32-bit floats, little endian. The last column is the time of the row's creation.

CREATE TABLE ragengine_answer (
    engine text NOT NULL,
    id text NOT NULL,
    owner text NOT NULL,
    index_name text NOT NULL,
    question text NOT NULL,
    fingerprint text NOT NULL,
    vector bytea NOT NULL,
    node_ids text[] NOT NULL,
    cache_key text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, id)
);
-- For deleting expired rows.
CREATE INDEX ragengine_answer_by_age ON ragengine_answer (engine, created_at);

CREATE TABLE ragengine_vote (
    engine text NOT NULL,
    answer_id text NOT NULL,
    voter text NOT NULL,
    rating text NOT NULL CHECK (rating IN ('up', 'down')),
    comment text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, answer_id, voter),
    FOREIGN KEY (engine, answer_id) REFERENCES ragengine_answer (engine, id) ON DELETE CASCADE
);
-- For lists, the newest first, and for deleting expired rows.
CREATE INDEX ragengine_vote_by_age ON ragengine_vote (engine, created_at);

-- The chunks of answers with votes. Most answers get none, so this is much smaller than an index of all chunks.
CREATE TABLE ragengine_voted_chunk (
    engine text NOT NULL,
    index_name text NOT NULL,
    node_id text NOT NULL,
    answer_id text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, index_name, node_id, answer_id),
    FOREIGN KEY (engine, answer_id) REFERENCES ragengine_answer (engine, id) ON DELETE CASCADE
);
-- For deleting the chunks of an answer.
CREATE INDEX ragengine_voted_chunk_by_answer ON ragengine_voted_chunk (engine, answer_id);

CREATE TABLE ragengine_interaction (
    engine text NOT NULL,
    owner text NOT NULL,
    id text NOT NULL,
    index_name text NOT NULL,
    fingerprint text NOT NULL,
    vector bytea NOT NULL,
    user_input text NOT NULL,
    ai_response text NOT NULL,
    ai_provider text NOT NULL,
    task_category text NOT NULL,
    node_ids text[] NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (engine, owner, id)
);
-- For finding the oldest row of an owner.
CREATE INDEX ragengine_interaction_by_owner ON ragengine_interaction (engine, owner, created_at, id);
-- For deleting expired rows.
CREATE INDEX ragengine_interaction_by_age ON ragengine_interaction (engine, created_at);
