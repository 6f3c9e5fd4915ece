-- +goose Up

-- Data keys of subjects, wrapped. A row without a key says that the keys up to its generation were destroyed.
CREATE TABLE subject_key (
    workspace_id TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    wrapped      BLOB    NOT NULL,
    wrapped_with TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, subject, generation)
) STRICT, WITHOUT ROWID;

CREATE INDEX subject_key_wrapping ON subject_key (wrapped_with, workspace_id, subject, generation);
