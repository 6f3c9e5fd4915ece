-- +goose Up

-- A kept answer that tells of subjects lies sealed. For a program that does not know of that, it has no body.
ALTER TABLE kept_answer ADD COLUMN sealed BYTEA NOT NULL DEFAULT '';
ALTER TABLE kept_answer ADD COLUMN sealed_by TEXT COLLATE "C" NOT NULL DEFAULT '';

-- Whom a kept answer tells of. It goes when something of them is erased.
CREATE TABLE kept_answer_subject (
    workspace_id TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    claim        BYTEA            NOT NULL,
    expires_at   BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, subject, claim)
);

CREATE INDEX kept_answer_subject_expiry ON kept_answer_subject (expires_at);
