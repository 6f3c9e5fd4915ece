-- +goose Up

-- Who did what. Rows are only ever added; each holds the hash of the one before it in its chain.
CREATE TABLE audit_log (
    chain         TEXT    NOT NULL,
    sequence      INTEGER NOT NULL,
    id            TEXT    NOT NULL UNIQUE,
    at            INTEGER NOT NULL,
    workspace_id  TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    action        TEXT    NOT NULL,
    target        TEXT    NOT NULL,
    outcome       TEXT    NOT NULL,
    count         INTEGER NOT NULL,
    details       TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    request_id    TEXT    NOT NULL,
    previous_hash BLOB    NOT NULL,
    hash          BLOB    NOT NULL,
    PRIMARY KEY (chain, sequence)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_log_workspace ON audit_log (workspace_id, id);
CREATE INDEX audit_log_target ON audit_log (target, id) WHERE target <> '';
CREATE INDEX audit_log_actor ON audit_log (actor, id) WHERE actor <> '';

-- Where each chain ends.
CREATE TABLE audit_chain (
    name     TEXT    NOT NULL PRIMARY KEY,
    sequence INTEGER NOT NULL,
    hash     BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
