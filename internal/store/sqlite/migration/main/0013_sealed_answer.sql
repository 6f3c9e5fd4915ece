-- +goose Up

-- A kept answer that tells of subjects lies sealed. For a program that does not know of that, it has no body.
ALTER TABLE kept_answer ADD COLUMN sealed BLOB NOT NULL DEFAULT x'';
ALTER TABLE kept_answer ADD COLUMN sealed_by TEXT NOT NULL DEFAULT '';

-- Whom a kept answer tells of. It goes when something of them is erased.
CREATE TABLE kept_answer_subject (
    workspace_id TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    claim        BLOB    NOT NULL,
    expires_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, subject, claim)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_answer_subject_expiry ON kept_answer_subject (expires_at);
