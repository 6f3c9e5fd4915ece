-- +goose Up

-- Who did what. Rows are only ever added; each holds the hash of the one before it in its chain.
CREATE TABLE audit_log (
    chain         TEXT COLLATE "C" NOT NULL,
    sequence      BIGINT           NOT NULL,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    at            BIGINT           NOT NULL,
    workspace_id  TEXT COLLATE "C" NOT NULL,
    actor         TEXT COLLATE "C" NOT NULL,
    action        TEXT COLLATE "C" NOT NULL,
    target        TEXT COLLATE "C" NOT NULL,
    outcome       TEXT COLLATE "C" NOT NULL,
    count         BIGINT           NOT NULL,
    details       TEXT COLLATE "C" NOT NULL,
    address       TEXT COLLATE "C" NOT NULL,
    request_id    TEXT COLLATE "C" NOT NULL,
    previous_hash BYTEA            NOT NULL,
    hash          BYTEA            NOT NULL,
    PRIMARY KEY (chain, sequence)
);

CREATE INDEX audit_log_workspace ON audit_log (workspace_id, id);
CREATE INDEX audit_log_target ON audit_log (target, id) WHERE target <> '';
CREATE INDEX audit_log_actor ON audit_log (actor, id) WHERE actor <> '';

-- Where each chain ends.
CREATE TABLE audit_chain (
    name     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sequence BIGINT           NOT NULL,
    hash     BYTEA            NOT NULL
);
