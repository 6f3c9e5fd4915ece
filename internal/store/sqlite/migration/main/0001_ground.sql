-- +goose Up

-- The one row says which instance the file belongs to; keys.db and usage.db hold the same id.
CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY
) STRICT;

-- Written to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     INTEGER NOT NULL PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;

CREATE TABLE workspace (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    tier       TEXT    NOT NULL,
    operator   INTEGER NOT NULL,
    suspended  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX workspace_operator ON workspace (operator) WHERE operator = 1;

CREATE TABLE account_user (
    id            TEXT    NOT NULL PRIMARY KEY,
    workspace_id  TEXT    NOT NULL REFERENCES workspace (id),
    email         TEXT    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    role          TEXT    NOT NULL,
    password_hash TEXT    NOT NULL,
    disabled      INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER,
    revision      INTEGER NOT NULL
) STRICT;

CREATE INDEX account_user_workspace ON account_user (workspace_id, id);

CREATE TABLE api_key (
    id                  TEXT    NOT NULL PRIMARY KEY,
    workspace_id        TEXT    NOT NULL REFERENCES workspace (id),
    name                TEXT    NOT NULL,
    scopes              TEXT    NOT NULL,
    expires_at          INTEGER,
    requests_per_minute INTEGER,
    daily               INTEGER,
    monthly             INTEGER,
    subject_id          TEXT    NOT NULL,
    agent_id            TEXT    NOT NULL,
    allowed_ips         TEXT    NOT NULL,
    metadata            TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    created_by          TEXT    NOT NULL,
    updated_at          INTEGER NOT NULL,
    disabled_at         INTEGER,
    revoked_at          INTEGER,
    revoke_reason       TEXT    NOT NULL,
    revision            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_newest ON api_key (workspace_id, created_at DESC, id DESC);

CREATE TABLE api_key_secret (
    key_id      TEXT    NOT NULL REFERENCES api_key (id),
    hash        BLOB    NOT NULL UNIQUE,
    hint        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    valid_until INTEGER,
    PRIMARY KEY (key_id, hash)
) STRICT, WITHOUT ROWID;

-- What a request with an Idempotency-Key was answered.
CREATE TABLE kept_answer (
    claim      BLOB    NOT NULL PRIMARY KEY,
    request    BLOB    NOT NULL,
    status     INTEGER NOT NULL,
    location   TEXT    NOT NULL,
    etag       TEXT    NOT NULL,
    has_body   INTEGER NOT NULL,
    body       BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX kept_answer_expiry ON kept_answer (expires_at);
