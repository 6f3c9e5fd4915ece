-- The secrets of the instance, apart from what they encrypt.

CREATE TABLE instance (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

-- Only the other engine writes it, to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     BIGINT NOT NULL PRIMARY KEY,
    filler BYTEA  NOT NULL
);

-- Secrets, wrapped by the master key.
CREATE TABLE wrapped_secret (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sealed     BYTEA            NOT NULL,
    created_at BIGINT           NOT NULL
);

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

-- What is known of each chain of the audit log apart from the database that contains it, sealed.
CREATE TABLE audit_record (
    chain  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sealed BYTEA            NOT NULL
);
