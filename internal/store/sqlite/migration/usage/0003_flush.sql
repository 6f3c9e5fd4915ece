-- +goose Up
-- keepsake: oldest 3, the first that several processes share.

-- The last flush of each recorder that has been counted: one whose commit nobody heard of is sent again under its number,
-- and is counted once. The row without a recorder is held by whoever tidies.
CREATE TABLE usage_flush (
    recorder   TEXT    NOT NULL PRIMARY KEY,
    number     INTEGER NOT NULL,
    flushed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
