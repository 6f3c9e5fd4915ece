-- +goose Up

-- Names that rows of reads refer to by number: chains, workspaces and actors.
CREATE TABLE audit_name (
    number BIGINT           NOT NULL PRIMARY KEY,
    name   TEXT COLLATE "C" NOT NULL UNIQUE
);

-- Reads of memories, by far the most rows of the audit log, in a form that takes little space. place is the number of the
-- chain times 2^40 plus the sequence number of the row; body holds what no statement looks for.
CREATE TABLE audit_read (
    place     BIGINT NOT NULL PRIMARY KEY,
    at        BIGINT NOT NULL,
    workspace BIGINT NOT NULL,
    actor     BIGINT NOT NULL,
    target    BIGINT NOT NULL,
    body      BYTEA  NOT NULL,
    hash      BYTEA  NOT NULL
);

CREATE INDEX audit_read_at ON audit_read (at);
CREATE INDEX audit_read_workspace ON audit_read (workspace, at);
CREATE INDEX audit_read_actor ON audit_read (actor, at);
CREATE INDEX audit_read_target ON audit_read (target, at);
