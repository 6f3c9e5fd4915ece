-- +goose Up

CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY
) STRICT;

CREATE TABLE probe (
    id     INTEGER NOT NULL PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;

CREATE TABLE wrapped_secret (
    name       TEXT    NOT NULL PRIMARY KEY,
    sealed     BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
