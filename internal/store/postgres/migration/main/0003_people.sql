-- +goose Up

-- Numbers of a tier that were changed while the service ran. They stand in place of the configured ones.
CREATE TABLE tier (
    name                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    requests_per_minute BIGINT           NOT NULL,
    daily               BIGINT           NOT NULL,
    monthly             BIGINT           NOT NULL,
    keys                BIGINT           NOT NULL,
    users               BIGINT           NOT NULL,
    documents           BIGINT           NOT NULL,
    memories            BIGINT           NOT NULL,
    revision            BIGINT           NOT NULL
);
