-- +goose Up

-- Versions of the API that were released while the service ran, and version 1 once its end is announced.
CREATE TABLE api_version (
    number       INTEGER NOT NULL PRIMARY KEY,
    since        INTEGER NOT NULL,
    announced_at INTEGER,
    sunset_at    INTEGER,
    retired_at   INTEGER,
    guide_url    TEXT    NOT NULL,
    backdated    INTEGER NOT NULL,
    revision     INTEGER NOT NULL
) STRICT;

-- API keys that see a version as after its sunset.
CREATE TABLE sunset_rehearsal (
    version      INTEGER NOT NULL,
    key_id       TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    until        INTEGER NOT NULL,
    PRIMARY KEY (version, key_id)
) STRICT, WITHOUT ROWID;
