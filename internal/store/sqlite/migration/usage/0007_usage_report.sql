-- +goose Up
-- keepsake: oldest 6, as before: earlier programs neither read nor write the new table.

-- The IDs of usage that other services have reported, as hashes. A report that is sent again before known_until counts once.
CREATE TABLE usage_report (
    id          BLOB    NOT NULL PRIMARY KEY,
    added_at    INTEGER NOT NULL,
    known_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_report_age ON usage_report (known_until);
