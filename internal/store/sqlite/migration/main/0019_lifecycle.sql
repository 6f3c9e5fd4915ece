-- +goose Up
-- keepsake: oldest 16, as before: earlier programs neither read nor write the new tables, and a new column can be NULL.

-- When sunset_at was set; NULL if an earlier release set it.
ALTER TABLE api_version ADD COLUMN dated_at INTEGER;

-- The traffic checks before a sunset, one for each version and date, with their inputs and thresholds.
CREATE TABLE version_check (
    version        INTEGER NOT NULL,
    sunset_at      INTEGER NOT NULL,
    checked_at     INTEGER NOT NULL,
    verdict        TEXT    NOT NULL,
    new_sunset_at  INTEGER NOT NULL,
    first_day      INTEGER NOT NULL,
    days           INTEGER NOT NULL,
    requests       INTEGER NOT NULL,
    all_requests   INTEGER NOT NULL,
    keys           INTEGER NOT NULL,
    active_keys    INTEGER NOT NULL,
    max_days       INTEGER NOT NULL,
    percent        INTEGER NOT NULL,
    min_keys       INTEGER NOT NULL,
    keys_percent   INTEGER NOT NULL,
    key_requests   INTEGER NOT NULL,
    key_days       INTEGER NOT NULL,
    PRIMARY KEY (version, sunset_at)
) STRICT, WITHOUT ROWID;

-- The changes of state that were recorded in the audit log and as events.
CREATE TABLE version_transition (
    version     INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (version, state)
) STRICT, WITHOUT ROWID;

-- The notices before a sunset that were sent to remaining callers.
CREATE TABLE version_notice (
    version   INTEGER NOT NULL,
    sunset_at INTEGER NOT NULL,
    days      INTEGER NOT NULL,
    sent_at   INTEGER NOT NULL,
    PRIMARY KEY (version, sunset_at, days)
) STRICT, WITHOUT ROWID;

-- The latest days in which the service ran.
CREATE TABLE service_day (
    day INTEGER NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- A version that was sunset before there were checks stays so, and what has happened is not announced again.
INSERT INTO version_check (version, sunset_at, checked_at, verdict, new_sunset_at, first_day, days, requests, all_requests, keys,
    active_keys, max_days, percent, min_keys, keys_percent, key_requests, key_days)
SELECT number, sunset_at, sunset_at, 'kept', sunset_at, sunset_at, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
FROM api_version WHERE sunset_at <= CAST(unixepoch() AS INTEGER) * 1000000;

INSERT INTO version_transition (version, state, at, recorded_at)
SELECT number, 'deprecated', announced_at, announced_at FROM api_version WHERE announced_at <= CAST(unixepoch() AS INTEGER) * 1000000;

INSERT INTO version_transition (version, state, at, recorded_at)
SELECT number, 'sunset', sunset_at, sunset_at FROM api_version WHERE sunset_at <= CAST(unixepoch() AS INTEGER) * 1000000;
