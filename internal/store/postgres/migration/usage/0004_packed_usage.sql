-- +goose Up
-- keepsake: oldest 3, as before: earlier programs go on counting minutes, and hours that they roll up are packed by then.

-- The durations of a cell's requests: encoded histograms, one after another.
ALTER TABLE usage_minute ADD COLUMN latency BYTEA NOT NULL DEFAULT '';

-- A partition for each day, so that old days are dropped instead of deleted. The rows so far, and those of a day without
-- a partition, are in the default partition.
ALTER TABLE usage_minute RENAME TO usage_minute_rest;
ALTER INDEX usage_minute_pkey RENAME TO usage_minute_rest_pkey;
ALTER INDEX usage_minute_age RENAME TO usage_minute_rest_age;

CREATE TABLE usage_minute (LIKE usage_minute_rest INCLUDING DEFAULTS) PARTITION BY RANGE (minute);
ALTER TABLE usage_minute ADD PRIMARY KEY (workspace_id, key_id, minute, route, method, status, version, surface);
CREATE INDEX usage_minute_age ON usage_minute (minute);
ALTER TABLE usage_minute ATTACH PARTITION usage_minute_rest DEFAULT;

-- Cells of minutes whose hour was closed when they arrived. They are in no packed row.
CREATE TABLE usage_late (
    workspace_id TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    requests     BIGINT           NOT NULL,
    charged      BIGINT           NOT NULL,
    bytes_in     BIGINT           NOT NULL,
    bytes_out    BIGINT           NOT NULL,
    latency      BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, key_id, minute, route, method, status, version, surface)
);

CREATE INDEX usage_late_age ON usage_late (minute);

-- All cells of a key in a Unix hour.
CREATE TABLE usage_packed_hour (
    workspace_id TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    hour         BIGINT           NOT NULL,
    cells        BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, key_id, hour)
);

CREATE INDEX usage_packed_hour_workspace ON usage_packed_hour (workspace_id, hour);
CREATE INDEX usage_packed_hour_age ON usage_packed_hour (hour);

-- All cells of a key in a UTC day, which begins with this Unix hour.
CREATE TABLE usage_packed_day (
    workspace_id TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    hour         BIGINT           NOT NULL,
    cells        BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, key_id, hour)
);

CREATE INDEX usage_packed_day_workspace ON usage_packed_day (workspace_id, hour);
CREATE INDEX usage_packed_day_age ON usage_packed_day (hour);

-- Packed rows have a few kilobytes. Uncompressed, and up to that size in the row, they are read faster.
ALTER TABLE usage_packed_hour ALTER COLUMN cells SET STORAGE EXTERNAL;
ALTER TABLE usage_packed_day ALTER COLUMN cells SET STORAGE EXTERNAL;

-- How far usage is packed, in Unix hours. There is one row, or none before the first roll-up.
CREATE TABLE usage_mark (
    id           BIGINT NOT NULL PRIMARY KEY,
    closed       BIGINT NOT NULL, -- cells of earlier hours go to usage_late
    packed_hours BIGINT NOT NULL, -- earlier hours are packed
    packed_days  BIGINT NOT NULL, -- earlier days are packed
    minutes_from BIGINT NOT NULL, -- earlier minutes are deleted
    hours_from   BIGINT NOT NULL  -- earlier packed hours are deleted
);
