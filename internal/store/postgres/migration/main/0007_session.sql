-- +goose Up

-- What logins began. A user that is deleted leaves its sessions behind, ended.
CREATE TABLE session (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    expires_at   BIGINT           NOT NULL,
    ended_at     BIGINT
);

CREATE INDEX session_of_user ON session (user_id) WHERE ended_at IS NULL;
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_ended ON session (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE refresh_token (
    hash       BYTEA            NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL REFERENCES session (id),
    created_at BIGINT           NOT NULL,
    expires_at BIGINT           NOT NULL,
    used_at    BIGINT
);

CREATE INDEX refresh_token_session ON refresh_token (session_id);
CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);
