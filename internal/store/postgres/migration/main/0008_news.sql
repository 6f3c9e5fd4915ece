-- +goose Up

-- What members of an instance change is news for the others. Only engines that processes share write here, and
-- all times are of the database's clock.

-- The numbers that were given last: of the news, and of the joins of members. No row stands for 0.
CREATE TABLE cluster_head (
    name   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT           NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE news (
    number  BIGINT           NOT NULL PRIMARY KEY,
    kind    TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT
);

-- The processes that have the database open. Each writes its row once a second.
CREATE TABLE member (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name         TEXT COLLATE "C" NOT NULL,
    host         TEXT COLLATE "C" NOT NULL,
    release      TEXT COLLATE "C" NOT NULL,
    split        BOOLEAN          NOT NULL,
    started_at   BIGINT           NOT NULL,
    seen_at      BIGINT           NOT NULL,
    left_at      BIGINT,
    joined_epoch BIGINT           NOT NULL,
    seen_epoch   BIGINT           NOT NULL
) WITH (fillfactor = 50);
