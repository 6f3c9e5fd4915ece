-- +goose Up

-- Hashes are keyed: without the instance's secrets they say nothing about whom or what. Those of natural keys and of what
-- makes two memories equal are keyed by the subject's data key, and say nothing any more once it is destroyed.

-- A person. After an erasure the row stays, without a name, so that a generation's number is never used again.
CREATE TABLE memory_subject (
    workspace_id TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    sealed_id    BLOB,
    memories     INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    erased_at    INTEGER,
    PRIMARY KEY (workspace_id, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_subject_created ON memory_subject (workspace_id, created_at, subject) WHERE sealed_id IS NOT NULL;

-- The current revision of a memory. Its text and all that a client wrote lie in sealed.
CREATE TABLE memory (
    workspace_id TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    agent        BLOB,
    session      BLOB,
    kind         TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    key_hash     BLOB,
    same_hash    BLOB    NOT NULL,
    size         INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    sealed       BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;

-- A hash of a subject, agent or session is one of its workspace, too, so the workspace need not be in front.
CREATE INDEX memory_at ON memory (workspace_id, at, id);
CREATE INDEX memory_subject_at ON memory (subject, at, id);
CREATE INDEX memory_agent_at ON memory (agent, at, id) WHERE agent IS NOT NULL;
CREATE INDEX memory_session_at ON memory (session, at, id) WHERE session IS NOT NULL;
CREATE INDEX memory_key ON memory (subject, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX memory_same ON memory (subject, same_hash);
CREATE INDEX memory_change ON memory (subject, change);
CREATE INDEX memory_expires ON memory (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_subject_expires ON memory (subject, expires_at) WHERE expires_at IS NOT NULL;

-- Older revisions.
CREATE TABLE memory_revision (
    workspace_id TEXT    NOT NULL,
    memory_id    TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    sealed       BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, memory_id, revision)
) STRICT;

-- What is left of an erased memory. An erased person's name no subject.
CREATE TABLE memory_tombstone (
    workspace_id TEXT    NOT NULL,
    memory_id    TEXT    NOT NULL,
    subject      BLOB,
    change       INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, memory_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_tombstone_change ON memory_tombstone (subject, change) WHERE subject IS NOT NULL;

-- How many memories a workspace holds.
CREATE TABLE memory_count (
    workspace_id TEXT    NOT NULL PRIMARY KEY,
    memories     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Erasures of persons that have not come to their end.
CREATE TABLE memory_erasure (
    id           TEXT    NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    memories     INTEGER NOT NULL,
    began_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What somebody was told would be forgotten.
CREATE TABLE memory_plan (
    workspace_id TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    memory_ids   TEXT    NOT NULL,
    credential   TEXT    NOT NULL,
    expires_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;

CREATE INDEX memory_plan_subject ON memory_plan (subject);
CREATE INDEX memory_plan_expires ON memory_plan (expires_at);
