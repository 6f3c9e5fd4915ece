-- The secrets of the instance, apart from what they encrypt.

CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY
) STRICT;

-- Written to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     INTEGER NOT NULL PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;

-- Secrets, wrapped by the master key.
CREATE TABLE wrapped_secret (
    name       TEXT    NOT NULL PRIMARY KEY,
    sealed     BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

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

-- What is known of each chain of the audit log apart from the database that contains it, sealed.
CREATE TABLE audit_record (
    chain  TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT;
