CREATE TABLE instance (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

-- Only the other engine writes it, to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     BIGINT NOT NULL PRIMARY KEY,
    filler BYTEA  NOT NULL
);

-- Counts of requests.

-- The last flush of each recorder that was counted. A flush whose commit has an unknown outcome is sent again with its number,
-- and counts once. The process that rolls up holds the row without a recorder.
CREATE TABLE usage_flush (
    recorder   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number     BIGINT           NOT NULL,
    flushed_at BIGINT           NOT NULL
);

-- The IDs of usage that other services have reported, as hashes. A report that is sent again before known_until counts once.
CREATE TABLE usage_report (
    id          BYTEA  NOT NULL PRIMARY KEY,
    added_at    BIGINT NOT NULL,
    known_until BIGINT NOT NULL
);

CREATE INDEX usage_report_age ON usage_report (known_until);

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
-- Tables that are written again and again leave room beside a row's old version, else each version costs an entry in each index.
CREATE TABLE usage_minute (
    series    BIGINT           NOT NULL,
    at        BIGINT           NOT NULL,
    requests  BIGINT           NOT NULL,
    charged   BIGINT           NOT NULL,
    bytes_in  BIGINT           NOT NULL,
    bytes_out BIGINT           NOT NULL,
    durations TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (series, at)
) WITH (fillfactor = 70);

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
) WITH (fillfactor = 45);

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
) WITH (fillfactor = 45);

CREATE INDEX usage_day_age ON usage_day (at);

-- What an owner, a workspace or a key, was charged in a UTC day ("2026-11-21") or month ("2026-11").
CREATE TABLE usage_quota (
    period   TEXT COLLATE "C" NOT NULL,
    owner_id TEXT COLLATE "C" NOT NULL,
    charged  BIGINT           NOT NULL,
    PRIMARY KEY (period, owner_id)
) WITH (fillfactor = 45);

-- Callers.

-- When the secret of an API key with this hint was last used.
CREATE TABLE last_use (
    key_id  TEXT COLLATE "C" NOT NULL,
    hint    TEXT COLLATE "C" NOT NULL,
    used_at BIGINT           NOT NULL,
    PRIMARY KEY (key_id, hint)
) WITH (fillfactor = 45);

-- Who used a version of the API: an API key or a user, by which route, with which program.
CREATE TABLE version_caller (
    version      BIGINT           NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    caller_id    TEXT COLLATE "C" NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    client       TEXT COLLATE "C" NOT NULL,
    last_at      BIGINT           NOT NULL,
    PRIMARY KEY (version, workspace_id, caller_id, route, client)
);

-- Single requests, of the newest days. A request without an API key, a user, a route or a code has an empty text, and one
-- without a version has 0. number distinguishes requests of one microsecond, and took is in microseconds.
CREATE TABLE request_log (
    workspace_id TEXT COLLATE "C" NOT NULL,
    at           BIGINT           NOT NULL,
    number       BIGINT           NOT NULL,
    request_id   TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    code         TEXT COLLATE "C" NOT NULL,
    took         BIGINT           NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    client       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, at, number)
);

CREATE INDEX request_log_age ON request_log (at, number);
CREATE INDEX request_log_id ON request_log (request_id);

-- The minutes in which requests of a workspace were left out of request_log.
CREATE TABLE request_gap (
    workspace_id TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, minute)
);

-- How often an error happened in a minute or, after some days, in the hour that begins with it.
CREATE TABLE request_error (
    workspace_id TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    code         TEXT COLLATE "C" NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    errors       BIGINT           NOT NULL,
    last_at      BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, minute, key_id, route, method, status, code, version, surface)
);

CREATE INDEX request_error_age ON request_error (minute);

-- The minutes that can be merged into hours. Merging them would otherwise read all hours.
CREATE INDEX request_error_minute ON request_error (minute) WHERE minute % 60 <> 0;
