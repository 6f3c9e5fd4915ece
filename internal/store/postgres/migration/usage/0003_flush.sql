-- +goose Up
-- keepsake: oldest 3, the first that several processes share.

-- The last flush of each recorder that has been counted: one whose commit nobody heard of is sent again under its number,
-- and is counted once. The row without a recorder is held by whoever tidies.
CREATE TABLE usage_flush (
    recorder   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number     BIGINT           NOT NULL,
    flushed_at BIGINT           NOT NULL
);

-- What is written again each second needs room beside its old version, else every version costs an entry in each index.
ALTER TABLE usage_minute SET (fillfactor = 45);
ALTER TABLE usage_quota SET (fillfactor = 45);
ALTER TABLE last_use SET (fillfactor = 45);
