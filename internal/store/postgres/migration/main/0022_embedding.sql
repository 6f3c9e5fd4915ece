-- +goose Up
-- keepsake: oldest 16, as before: earlier programs neither read nor write what is new, and if they erase a memory, the database removes its vector.

-- Whether texts of the workspace are sent to the embeddings endpoint.
ALTER TABLE workspace ADD COLUMN embeddings BOOLEAN NOT NULL DEFAULT FALSE;

-- The change of the subject up to which its memories have vectors, and the model of these; NULL for none.
ALTER TABLE memory_subject ADD COLUMN embedded BIGINT;
ALTER TABLE memory_subject ADD COLUMN embedded_by TEXT COLLATE "C";

-- The vectors of memories, sealed like the memories themselves. change is the subject's change that wrote the row. sealed is
-- empty for a text that the endpoint refused.
CREATE TABLE memory_vector (
    workspace_id TEXT COLLATE "C" NOT NULL,
    memory_id    TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    revision     BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    model        TEXT COLLATE "C" NOT NULL,
    sealed       BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, memory_id),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id) ON DELETE CASCADE
);

CREATE INDEX memory_vector_change ON memory_vector (subject, change);

-- How many texts were sent to the embeddings endpoint on a day since 1970.
CREATE TABLE embedding_day (
    day   BIGINT NOT NULL PRIMARY KEY,
    texts BIGINT NOT NULL
);
