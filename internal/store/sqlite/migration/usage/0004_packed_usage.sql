-- +goose Up
-- keepsake: oldest 3, as before: earlier programs go on counting minutes, and hours that they roll up are packed by then.

-- The durations of a cell's requests: encoded histograms, one after another.
ALTER TABLE usage_minute ADD COLUMN latency BLOB NOT NULL DEFAULT x'';

-- Cells of minutes whose hour was closed when they arrived. They are in no packed row.
CREATE TABLE usage_late (
    workspace_id TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    minute       INTEGER NOT NULL,
    route        TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    status       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    surface      TEXT    NOT NULL,
    requests     INTEGER NOT NULL,
    charged      INTEGER NOT NULL,
    bytes_in     INTEGER NOT NULL,
    bytes_out    INTEGER NOT NULL,
    latency      BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, key_id, minute, route, method, status, version, surface)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_late_age ON usage_late (minute);

-- All cells of a key in a Unix hour. Rows are a few kilobytes long, which SQLite reads faster from a table with row IDs.
CREATE TABLE usage_packed_hour (
    workspace_id TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    hour         INTEGER NOT NULL,
    cells        BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, key_id, hour)
) STRICT;

CREATE INDEX usage_packed_hour_workspace ON usage_packed_hour (workspace_id, hour);
CREATE INDEX usage_packed_hour_age ON usage_packed_hour (hour);

-- All cells of a key in a UTC day, which begins with this Unix hour.
CREATE TABLE usage_packed_day (
    workspace_id TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    hour         INTEGER NOT NULL,
    cells        BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, key_id, hour)
) STRICT;

CREATE INDEX usage_packed_day_workspace ON usage_packed_day (workspace_id, hour);
CREATE INDEX usage_packed_day_age ON usage_packed_day (hour);

-- How far usage is packed, in Unix hours. There is one row, or none before the first roll-up.
CREATE TABLE usage_mark (
    id           INTEGER NOT NULL PRIMARY KEY,
    closed       INTEGER NOT NULL, -- cells of earlier hours go to usage_late
    packed_hours INTEGER NOT NULL, -- earlier hours are packed
    packed_days  INTEGER NOT NULL, -- earlier days are packed
    minutes_from INTEGER NOT NULL, -- earlier minutes are deleted
    hours_from   INTEGER NOT NULL  -- earlier packed hours are deleted
) STRICT;
