-- +goose Up

-- What logins began. A user that is deleted leaves its sessions behind, ended.
CREATE TABLE session (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX session_user ON session (user_id) WHERE ended_at IS NULL;
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_ended ON session (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE refresh_token (
    hash       BLOB    NOT NULL PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES session (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX refresh_token_session ON refresh_token (session_id);
CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);
