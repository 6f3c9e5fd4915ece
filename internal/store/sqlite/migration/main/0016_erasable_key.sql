-- +goose Up
-- keepsake: oldest 16, because what is sealed with a key of its own opens for no earlier program.

-- Keys of single memories and kept answers. What is sealed with one opens with nothing else, so that overwriting the key
-- erases it. Rows are only added behind all others, overwritten in place and used again, and never deleted: SQLite then has
-- no reason to copy one to another page, where a copy would stay behind.
CREATE TABLE erasable_key (
    slot INTEGER NOT NULL PRIMARY KEY,
    key  BLOB    NOT NULL,
    free INTEGER NOT NULL
) STRICT;

CREATE INDEX erasable_key_free ON erasable_key (slot) WHERE free = 1;

ALTER TABLE memory ADD COLUMN key_slot INTEGER;
ALTER TABLE kept_answer ADD COLUMN key_slot INTEGER;

-- Units that erased something since the database's files were cleared of what was erased.
CREATE TABLE unscrubbed (
    id TEXT    NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX unscrubbed_at ON unscrubbed (at);
