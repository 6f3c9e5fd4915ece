-- +goose Up
-- keepsake: oldest 6: earlier programs would pack hours without these minutes.

-- Cells of a key in a minute. A flush appends to the row of its part; after the hour, one row with part 0 remains.
CREATE TABLE usage_packed_minute (
    workspace_id TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    minute       INTEGER NOT NULL,
    part         INTEGER NOT NULL,
    cells        BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, key_id, minute, part)
) STRICT;

CREATE INDEX usage_packed_minute_workspace ON usage_packed_minute (workspace_id, minute);
CREATE INDEX usage_packed_minute_age ON usage_packed_minute (minute);

-- The same, of minutes whose hour was closed when the cells arrived. They are in no other table.
CREATE TABLE usage_packed_late (
    workspace_id TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    minute       INTEGER NOT NULL,
    part         INTEGER NOT NULL,
    cells        BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, key_id, minute, part)
) STRICT;

CREATE INDEX usage_packed_late_age ON usage_packed_late (minute);
