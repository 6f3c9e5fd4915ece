-- +goose Up
-- keepsake: oldest 6: earlier programs would pack hours without these minutes.

-- Cells of a key in a minute. A flush appends to the row of its part; after the hour, one row with part 0 remains. There is a
-- partition for each day, as of usage_minute.
CREATE TABLE usage_packed_minute (
    workspace_id TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    part         BIGINT           NOT NULL,
    cells        BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, key_id, minute, part)
) PARTITION BY RANGE (minute);

CREATE INDEX usage_packed_minute_workspace ON usage_packed_minute (workspace_id, minute);
CREATE INDEX usage_packed_minute_age ON usage_packed_minute (minute);

-- The same, of minutes whose hour was closed when the cells arrived. They are in no other table.
CREATE TABLE usage_packed_late (
    workspace_id TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    part         BIGINT           NOT NULL,
    cells        BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, key_id, minute, part)
);

CREATE INDEX usage_packed_late_age ON usage_packed_late (minute);

-- Compression would take longer than it saves.
ALTER TABLE usage_packed_minute ALTER COLUMN cells SET STORAGE EXTERNAL;
ALTER TABLE usage_packed_late ALTER COLUMN cells SET STORAGE EXTERNAL;

-- Rows without a partition of their own.
CREATE TABLE usage_packed_minute_rest PARTITION OF usage_packed_minute DEFAULT WITH (fillfactor = 45);
