-- +goose Up
-- keepsake: oldest 16, as before: earlier programs neither read nor write what is new, and if they erase a memory, the database removes its vector.

-- Whether texts of the workspace are sent to the embeddings endpoint.
ALTER TABLE workspace ADD COLUMN embeddings INTEGER NOT NULL DEFAULT 0;

-- The change of the subject up to which its memories have vectors, and the model of these; NULL for none.
ALTER TABLE memory_subject ADD COLUMN embedded INTEGER;
ALTER TABLE memory_subject ADD COLUMN embedded_by TEXT;

-- The vectors of memories, sealed like the memories themselves. change is the subject's change that wrote the row. sealed is
-- empty for a text that the endpoint refused.
CREATE TABLE memory_vector (
    workspace_id TEXT    NOT NULL,
    memory_id    TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    revision     INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    model        TEXT    NOT NULL,
    sealed       BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, memory_id),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX memory_vector_change ON memory_vector (subject, change);

-- How many texts were sent to the embeddings endpoint on a day since 1970.
CREATE TABLE embedding_day (
    day   INTEGER NOT NULL PRIMARY KEY,
    texts INTEGER NOT NULL
) STRICT;
