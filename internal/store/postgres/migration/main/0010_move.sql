-- +goose Up
-- keepsake: oldest 10, the first that several processes share.

-- How far a move into this database is. While there are rows, it is not whole and must not be served.
CREATE TABLE move_progress (
    part   TEXT COLLATE "C" NOT NULL,
    name   TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    after  TEXT COLLATE "C" NOT NULL,
    copied BIGINT           NOT NULL,
    done   BOOLEAN          NOT NULL,
    PRIMARY KEY (part, name)
);
