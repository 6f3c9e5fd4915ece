-- +goose Up
-- keepsake: oldest 8: earlier programs use the tables that are dropped.

-- Counts of requests so far are dropped. Quotas stay.
DROP TABLE usage_minute;
DROP TABLE usage_hour;
DROP TABLE usage_late;
DROP TABLE usage_packed_minute;
DROP TABLE usage_packed_hour;
DROP TABLE usage_packed_day;
DROP TABLE usage_packed_late;
DROP TABLE usage_mark;

-- What counts are kept apart by. The ID is a hash of the other columns, so that processes agree on it without asking.
CREATE TABLE usage_series (
    id           INTEGER NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL, -- empty without credentials
    key_id       TEXT    NOT NULL, -- empty without a key
    route        TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    status       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    surface      TEXT    NOT NULL,
    last_day     INTEGER NOT NULL  -- the latest day with counts, as in usage_day
) STRICT;

CREATE INDEX usage_series_owner ON usage_series (workspace_id, key_id);
CREATE INDEX usage_series_age ON usage_series (last_day);

-- Counts of requests that are not rolled up yet. flush is a random number of the transaction that added them. at is the Unix time
-- in seconds at which their minute begins. In durations, bucket n counts the requests that took about 1.04^n microseconds:
-- {"176":2,"177":5}.
CREATE TABLE usage_fresh (
    flush     INTEGER NOT NULL,
    series    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    requests  INTEGER NOT NULL,
    charged   INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    durations TEXT    NOT NULL,
    PRIMARY KEY (flush, series, at)
) STRICT, WITHOUT ROWID;

-- What a series counted in a minute, an hour or a UTC day, without what is fresh.
CREATE TABLE usage_minute (
    series    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    requests  INTEGER NOT NULL,
    charged   INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    durations TEXT    NOT NULL,
    PRIMARY KEY (series, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_minute_age ON usage_minute (at);

CREATE TABLE usage_hour (
    series    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    requests  INTEGER NOT NULL,
    charged   INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    durations TEXT    NOT NULL,
    PRIMARY KEY (series, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_hour_age ON usage_hour (at);

CREATE TABLE usage_day (
    series    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    requests  INTEGER NOT NULL,
    charged   INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    durations TEXT    NOT NULL,
    PRIMARY KEY (series, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_day_age ON usage_day (at);
