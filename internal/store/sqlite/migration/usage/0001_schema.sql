CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY
) STRICT;

-- Written to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     INTEGER NOT NULL PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;

-- Counts of requests.

-- The last flush of each recorder that was counted. A flush whose commit has an unknown outcome is sent again with its number,
-- and counts once. The process that rolls up holds the row without a recorder.
CREATE TABLE usage_flush (
    recorder   TEXT    NOT NULL PRIMARY KEY,
    number     INTEGER NOT NULL,
    flushed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The IDs of usage that other services have reported, as hashes. A report that is sent again before known_until counts once.
CREATE TABLE usage_report (
    id          BLOB    NOT NULL PRIMARY KEY,
    added_at    INTEGER NOT NULL,
    known_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_report_age ON usage_report (known_until);

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

-- What an owner, a workspace or a key, was charged in a UTC day ("2026-11-21") or month ("2026-11").
CREATE TABLE usage_quota (
    period   TEXT    NOT NULL,
    owner_id TEXT    NOT NULL,
    charged  INTEGER NOT NULL,
    PRIMARY KEY (period, owner_id)
) STRICT, WITHOUT ROWID;

-- Callers.

-- When the secret of an API key with this hint was last used.
CREATE TABLE last_use (
    key_id  TEXT    NOT NULL,
    hint    TEXT    NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (key_id, hint)
) STRICT, WITHOUT ROWID;

-- Who used a version of the API: an API key or a user, by which route, with which program.
CREATE TABLE version_caller (
    version      INTEGER NOT NULL,
    workspace_id TEXT    NOT NULL,
    caller_id    TEXT    NOT NULL,
    route        TEXT    NOT NULL,
    client       TEXT    NOT NULL,
    last_at      INTEGER NOT NULL,
    PRIMARY KEY (version, workspace_id, caller_id, route, client)
) STRICT, WITHOUT ROWID;

-- Single requests, of the newest days. A request without an API key, a user, a route or a code has an empty text, and one
-- without a version has 0. number distinguishes requests of one microsecond, and took is in microseconds.
CREATE TABLE request_log (
    workspace_id TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    request_id   TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    user_id      TEXT    NOT NULL,
    route        TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    status       INTEGER NOT NULL,
    code         TEXT    NOT NULL,
    took         INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    surface      TEXT    NOT NULL,
    client       TEXT    NOT NULL,
    PRIMARY KEY (workspace_id, at, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX request_log_age ON request_log (at, number);
CREATE INDEX request_log_id ON request_log (request_id);

-- The minutes in which requests of a workspace were left out of request_log.
CREATE TABLE request_gap (
    workspace_id TEXT    NOT NULL,
    minute       INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, minute)
) STRICT, WITHOUT ROWID;

-- How often an error happened in a minute or, after some days, in the hour that begins with it.
CREATE TABLE request_error (
    workspace_id TEXT    NOT NULL,
    minute       INTEGER NOT NULL,
    key_id       TEXT    NOT NULL,
    route        TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    status       INTEGER NOT NULL,
    code         TEXT    NOT NULL,
    version      INTEGER NOT NULL,
    surface      TEXT    NOT NULL,
    errors       INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, minute, key_id, route, method, status, code, version, surface)
) STRICT, WITHOUT ROWID;

CREATE INDEX request_error_age ON request_error (minute);

-- The minutes that can be merged into hours. Merging them would otherwise read all hours.
CREATE INDEX request_error_minute ON request_error (minute) WHERE minute % 60 <> 0;
