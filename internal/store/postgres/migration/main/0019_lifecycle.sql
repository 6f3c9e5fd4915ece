-- +goose Up
-- keepsake: oldest 16, as before: earlier programs neither read nor write the new tables, and a new column can be NULL.

-- When sunset_at was set; NULL if an earlier release set it.
ALTER TABLE api_version ADD COLUMN dated_at BIGINT;

-- The traffic checks before a sunset, one for each version and date, with their inputs and thresholds.
CREATE TABLE version_check (
    version        BIGINT NOT NULL,
    sunset_at      BIGINT NOT NULL,
    checked_at     BIGINT NOT NULL,
    verdict        TEXT COLLATE "C" NOT NULL,
    new_sunset_at  BIGINT NOT NULL,
    first_day      BIGINT NOT NULL,
    days           BIGINT NOT NULL,
    requests       BIGINT NOT NULL,
    all_requests   BIGINT NOT NULL,
    keys           BIGINT NOT NULL,
    active_keys    BIGINT NOT NULL,
    max_days       BIGINT NOT NULL,
    percent        BIGINT NOT NULL,
    min_keys       BIGINT NOT NULL,
    keys_percent   BIGINT NOT NULL,
    key_requests   BIGINT NOT NULL,
    key_days       BIGINT NOT NULL,
    PRIMARY KEY (version, sunset_at)
);

-- The changes of state that were recorded in the audit log and as events.
CREATE TABLE version_transition (
    version     BIGINT NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    at          BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (version, state)
);

-- The notices before a sunset that were sent to remaining callers.
CREATE TABLE version_notice (
    version   BIGINT NOT NULL,
    sunset_at BIGINT NOT NULL,
    days      BIGINT NOT NULL,
    sent_at   BIGINT NOT NULL,
    PRIMARY KEY (version, sunset_at, days)
);

-- The latest days in which the service ran.
CREATE TABLE service_day (
    day BIGINT NOT NULL PRIMARY KEY
);

-- A version that was sunset before there were checks stays so, and what has happened is not announced again.
INSERT INTO version_check (version, sunset_at, checked_at, verdict, new_sunset_at, first_day, days, requests, all_requests, keys,
    active_keys, max_days, percent, min_keys, keys_percent, key_requests, key_days)
SELECT number, sunset_at, sunset_at, 'kept', sunset_at, sunset_at, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
FROM api_version WHERE sunset_at <= CAST(extract(epoch FROM now()) AS BIGINT) * 1000000;

INSERT INTO version_transition (version, state, at, recorded_at)
SELECT number, 'deprecated', announced_at, announced_at FROM api_version WHERE announced_at <= CAST(extract(epoch FROM now()) AS BIGINT) * 1000000;

INSERT INTO version_transition (version, state, at, recorded_at)
SELECT number, 'sunset', sunset_at, sunset_at FROM api_version WHERE sunset_at <= CAST(extract(epoch FROM now()) AS BIGINT) * 1000000;
