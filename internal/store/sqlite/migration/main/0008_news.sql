-- +goose Up

-- What members of an instance change is news for the others. Only engines that processes share write here, and
-- all times are of the database's clock.

-- The numbers that were given last: of the news, and of the joins of members. No row stands for 0.
CREATE TABLE cluster_head (
    name   TEXT    NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;

CREATE TABLE news (
    number  INTEGER NOT NULL PRIMARY KEY,
    kind    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    at      INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
) STRICT;

-- The processes that have the database open.
CREATE TABLE member (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    host         TEXT    NOT NULL,
    release      TEXT    NOT NULL,
    split        INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL,
    left_at      INTEGER,
    joined_epoch INTEGER NOT NULL,
    seen_epoch   INTEGER NOT NULL
) STRICT;
