-- +goose Up

-- Numbers of a tier that were changed while the service ran. They stand in place of the configured ones.
CREATE TABLE tier (
    name                TEXT    NOT NULL PRIMARY KEY,
    requests_per_minute INTEGER NOT NULL,
    daily               INTEGER NOT NULL,
    monthly             INTEGER NOT NULL,
    keys                INTEGER NOT NULL,
    users               INTEGER NOT NULL,
    documents           INTEGER NOT NULL,
    memories            INTEGER NOT NULL,
    revision            INTEGER NOT NULL
) STRICT;
