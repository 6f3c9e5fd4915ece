-- +goose Up

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
