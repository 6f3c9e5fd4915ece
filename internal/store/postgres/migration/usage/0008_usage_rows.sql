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
    id           BIGINT           NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL, -- empty without credentials
    key_id       TEXT COLLATE "C" NOT NULL, -- empty without a key
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    last_day     BIGINT           NOT NULL  -- the latest day with counts, as in usage_day
);

CREATE INDEX usage_series_owner ON usage_series (workspace_id, key_id);
CREATE INDEX usage_series_age ON usage_series (last_day);

-- Counts of requests that are not rolled up yet. flush is a random number of the transaction that added them. at is the Unix time
-- in seconds at which their minute begins. In durations, bucket n counts the requests that took about 1.04^n microseconds:
-- {"176":2,"177":5}.
CREATE TABLE usage_fresh (
    flush     BIGINT           NOT NULL,
    series    BIGINT           NOT NULL,
    at        BIGINT           NOT NULL,
    requests  BIGINT           NOT NULL,
    charged   BIGINT           NOT NULL,
    bytes_in  BIGINT           NOT NULL,
    bytes_out BIGINT           NOT NULL,
    durations TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (flush, series, at)
);

-- What a series counted in a minute, an hour or a UTC day, without what is fresh.
CREATE TABLE usage_minute (
    series    BIGINT           NOT NULL,
    at        BIGINT           NOT NULL,
    requests  BIGINT           NOT NULL,
    charged   BIGINT           NOT NULL,
    bytes_in  BIGINT           NOT NULL,
    bytes_out BIGINT           NOT NULL,
    durations TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (series, at)
);

CREATE INDEX usage_minute_age ON usage_minute (at);

CREATE TABLE usage_hour (
    series    BIGINT           NOT NULL,
    at        BIGINT           NOT NULL,
    requests  BIGINT           NOT NULL,
    charged   BIGINT           NOT NULL,
    bytes_in  BIGINT           NOT NULL,
    bytes_out BIGINT           NOT NULL,
    durations TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (series, at)
);

CREATE INDEX usage_hour_age ON usage_hour (at);

CREATE TABLE usage_day (
    series    BIGINT           NOT NULL,
    at        BIGINT           NOT NULL,
    requests  BIGINT           NOT NULL,
    charged   BIGINT           NOT NULL,
    bytes_in  BIGINT           NOT NULL,
    bytes_out BIGINT           NOT NULL,
    durations TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (series, at)
);

CREATE INDEX usage_day_age ON usage_day (at);

-- What is written again each minute needs room beside its old version, else every version costs an entry in each index.
ALTER TABLE usage_minute SET (fillfactor = 70);
ALTER TABLE usage_hour SET (fillfactor = 45);
ALTER TABLE usage_day SET (fillfactor = 45);
