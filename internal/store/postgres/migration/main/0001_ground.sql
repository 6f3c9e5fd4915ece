-- +goose Up

-- The one row says which instance the schema belongs to; those of the keys and the usage hold the same id.
CREATE TABLE instance (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

-- Written by the other engine, to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     BIGINT NOT NULL PRIMARY KEY,
    filler BYTEA  NOT NULL
);

CREATE TABLE workspace (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    tier       TEXT COLLATE "C" NOT NULL,
    operator   BOOLEAN          NOT NULL,
    suspended  BOOLEAN          NOT NULL,
    created_at BIGINT           NOT NULL,
    revision   BIGINT           NOT NULL
);

CREATE UNIQUE INDEX workspace_operator ON workspace (operator) WHERE operator;

CREATE TABLE account_user (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id  TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    email         TEXT COLLATE "C" NOT NULL UNIQUE,
    name          TEXT COLLATE "C" NOT NULL,
    role          TEXT COLLATE "C" NOT NULL,
    password_hash TEXT COLLATE "C" NOT NULL,
    disabled      BOOLEAN          NOT NULL,
    created_at    BIGINT           NOT NULL,
    last_login_at BIGINT,
    revision      BIGINT           NOT NULL
);

CREATE INDEX account_user_workspace ON account_user (workspace_id, id);

CREATE TABLE api_key (
    id                  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id        TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    name                TEXT COLLATE "C" NOT NULL,
    scopes              TEXT COLLATE "C" NOT NULL,
    expires_at          BIGINT,
    requests_per_minute BIGINT,
    daily               BIGINT,
    monthly             BIGINT,
    subject_id          TEXT COLLATE "C" NOT NULL,
    agent_id            TEXT COLLATE "C" NOT NULL,
    allowed_ips         TEXT COLLATE "C" NOT NULL,
    metadata            TEXT COLLATE "C" NOT NULL,
    created_at          BIGINT           NOT NULL,
    created_by          TEXT COLLATE "C" NOT NULL,
    updated_at          BIGINT           NOT NULL,
    disabled_at         BIGINT,
    revoked_at          BIGINT,
    revoke_reason       TEXT COLLATE "C" NOT NULL,
    revision            BIGINT           NOT NULL
);

CREATE INDEX api_key_newest ON api_key (workspace_id, created_at DESC, id DESC);

CREATE TABLE api_key_secret (
    key_id      TEXT COLLATE "C" NOT NULL REFERENCES api_key (id),
    hash        BYTEA            NOT NULL UNIQUE,
    hint        TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    valid_until BIGINT,
    PRIMARY KEY (key_id, hash)
);

-- What a request with an Idempotency-Key was answered.
CREATE TABLE kept_answer (
    claim      BYTEA            NOT NULL PRIMARY KEY,
    request    BYTEA            NOT NULL,
    status     BIGINT           NOT NULL,
    location   TEXT COLLATE "C" NOT NULL,
    etag       TEXT COLLATE "C" NOT NULL,
    has_body   BOOLEAN          NOT NULL,
    body       BYTEA            NOT NULL,
    created_at BIGINT           NOT NULL,
    expires_at BIGINT           NOT NULL
);

CREATE INDEX kept_answer_expiry ON kept_answer (expires_at);
