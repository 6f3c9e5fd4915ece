-- +goose Up
-- keepsake: oldest 10, the first that several processes share.

-- How far a move into this database is. While there are rows, it is not whole and must not be served.
CREATE TABLE move_progress (
    part   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    source TEXT    NOT NULL,
    after  TEXT    NOT NULL,
    copied INTEGER NOT NULL,
    done   INTEGER NOT NULL,
    PRIMARY KEY (part, name)
) STRICT;
