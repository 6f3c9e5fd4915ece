-- +goose Up

-- What is known of each chain of the audit log apart from the database that holds it, sealed.
CREATE TABLE audit_record (
    chain  TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT;
