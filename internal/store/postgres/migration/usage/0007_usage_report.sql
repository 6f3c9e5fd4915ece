-- +goose Up
-- keepsake: oldest 6, as before: earlier programs neither read nor write the new table.

-- The IDs of usage that other services have reported, as hashes. A report that is sent again before known_until counts once.
CREATE TABLE usage_report (
    id          BYTEA  NOT NULL PRIMARY KEY,
    added_at    BIGINT NOT NULL,
    known_until BIGINT NOT NULL
);

CREATE INDEX usage_report_age ON usage_report (known_until);
