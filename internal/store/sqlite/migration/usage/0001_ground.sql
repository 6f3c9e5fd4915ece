-- +goose Up

CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY
) STRICT;

CREATE TABLE probe (
    id     INTEGER NOT NULL PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;

CREATE TABLE usage_minute (
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
    PRIMARY KEY (workspace_id, key_id, minute, route, method, status, version, surface)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_minute_age ON usage_minute (minute);

CREATE TABLE usage_hour (
    workspace_id TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    hour         INTEGER NOT NULL,
    route        TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    status       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    surface      TEXT    NOT NULL,
    requests     INTEGER NOT NULL,
    charged      INTEGER NOT NULL,
    bytes_in     INTEGER NOT NULL,
    bytes_out    INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, key_id, hour, route, method, status, version, surface)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_hour_age ON usage_hour (hour);

-- What an owner, a workspace or a key, was charged in a UTC day ("2026-11-21") or month ("2026-11").
CREATE TABLE usage_quota (
    period   TEXT    NOT NULL,
    owner_id TEXT    NOT NULL,
    charged  INTEGER NOT NULL,
    PRIMARY KEY (period, owner_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE last_use (
    key_id  TEXT    NOT NULL,
    hint    TEXT    NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (key_id, hint)
) STRICT, WITHOUT ROWID;
