-- +goose Up

CREATE TABLE instance (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

CREATE TABLE probe (
    id     BIGINT NOT NULL PRIMARY KEY,
    filler BYTEA  NOT NULL
);

CREATE TABLE wrapped_secret (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sealed     BYTEA            NOT NULL,
    created_at BIGINT           NOT NULL
);
