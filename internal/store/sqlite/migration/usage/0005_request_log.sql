-- +goose Up

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
