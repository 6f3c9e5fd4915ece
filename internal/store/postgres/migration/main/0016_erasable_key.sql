-- +goose Up
-- keepsake: oldest 16, because what is sealed with a key of its own opens for no earlier program.

-- Keys of single memories and kept answers. What is sealed with one opens with nothing else, so that deleting the key and
-- writing this small table anew (VACUUM FULL) erases it.
CREATE TABLE erasable_key (
    slot BIGINT  NOT NULL PRIMARY KEY,
    key  BYTEA   NOT NULL,
    free BOOLEAN NOT NULL
);

CREATE INDEX erasable_key_free ON erasable_key (slot) WHERE free;

ALTER TABLE memory ADD COLUMN key_slot BIGINT;
ALTER TABLE kept_answer ADD COLUMN key_slot BIGINT;

-- Units that erased something since the tables of keys were written anew.
CREATE TABLE unscrubbed (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at BIGINT           NOT NULL
);

CREATE INDEX unscrubbed_at ON unscrubbed (at);
