-- +goose Up

-- Hashes are keyed: without the instance's secrets they say nothing about whom or what. Those of natural keys and of what
-- makes two memories equal are keyed by the subject's data key, and say nothing any more once it is destroyed.

-- A person. After an erasure the row stays, without a name, so that a generation's number is never used again.
CREATE TABLE memory_subject (
    workspace_id TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    sealed_id    BYTEA,
    memories     BIGINT           NOT NULL,
    bytes        BIGINT           NOT NULL,
    created_at   BIGINT           NOT NULL,
    updated_at   BIGINT           NOT NULL,
    erased_at    BIGINT,
    PRIMARY KEY (workspace_id, subject)
);

CREATE INDEX memory_subject_created ON memory_subject (workspace_id, created_at, subject) WHERE sealed_id IS NOT NULL;

-- The current revision of a memory. Its text and all that a client wrote lie in sealed.
CREATE TABLE memory (
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    agent        BYTEA,
    session      BYTEA,
    kind         TEXT COLLATE "C" NOT NULL,
    at           BIGINT           NOT NULL,
    created_at   BIGINT           NOT NULL,
    updated_at   BIGINT           NOT NULL,
    expires_at   BIGINT,
    key_hash     BYTEA,
    same_hash    BYTEA            NOT NULL,
    size         BIGINT           NOT NULL,
    revision     BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    sealed       BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

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
    workspace_id TEXT COLLATE "C" NOT NULL,
    memory_id    TEXT COLLATE "C" NOT NULL,
    revision     BIGINT           NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    sealed       BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, memory_id, revision)
);

-- What is left of an erased memory. An erased person's name no subject.
CREATE TABLE memory_tombstone (
    workspace_id TEXT COLLATE "C" NOT NULL,
    memory_id    TEXT COLLATE "C" NOT NULL,
    subject      BYTEA,
    change       BIGINT           NOT NULL,
    at           BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, memory_id)
);

CREATE INDEX memory_tombstone_change ON memory_tombstone (subject, change) WHERE subject IS NOT NULL;

-- How many memories a workspace holds.
CREATE TABLE memory_count (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    memories     BIGINT           NOT NULL
);

-- Erasures of persons that have not come to their end.
CREATE TABLE memory_erasure (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    memories     BIGINT           NOT NULL,
    began_at     BIGINT           NOT NULL
);

-- What somebody was told would be forgotten.
CREATE TABLE memory_plan (
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    memory_ids   TEXT COLLATE "C" NOT NULL,
    credential   TEXT COLLATE "C" NOT NULL,
    expires_at   BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE INDEX memory_plan_subject ON memory_plan (subject);
CREATE INDEX memory_plan_expires ON memory_plan (expires_at);
