-- +goose Up

-- Data keys of subjects, wrapped. A row without a key says that the keys up to its generation were destroyed.
CREATE TABLE subject_key (
    workspace_id TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    wrapped      BYTEA            NOT NULL,
    wrapped_with TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, subject, generation)
);

CREATE INDEX subject_key_wrapping ON subject_key (wrapped_with, workspace_id, subject, generation);
