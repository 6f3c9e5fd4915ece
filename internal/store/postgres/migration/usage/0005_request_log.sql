-- +goose Up

-- Single requests, of the newest days. A request without an API key, a user, a route or a code has an empty text, and one
-- without a version has 0. number distinguishes requests of one microsecond, and took is in microseconds.
CREATE TABLE request_log (
    workspace_id TEXT COLLATE "C" NOT NULL,
    at           BIGINT           NOT NULL,
    number       BIGINT           NOT NULL,
    request_id   TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    code         TEXT COLLATE "C" NOT NULL,
    took         BIGINT           NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    client       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, at, number)
);

CREATE INDEX request_log_age ON request_log (at, number);

CREATE INDEX request_log_id ON request_log (request_id);

-- The minutes in which requests of a workspace were left out of request_log.
CREATE TABLE request_gap (
    workspace_id TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, minute)
);

-- How often an error happened in a minute or, after some days, in the hour that begins with it.
CREATE TABLE request_error (
    workspace_id TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    code         TEXT COLLATE "C" NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    errors       BIGINT           NOT NULL,
    last_at      BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, minute, key_id, route, method, status, code, version, surface)
);

CREATE INDEX request_error_age ON request_error (minute);

-- The minutes that can be merged into hours. Merging them would otherwise read all hours.
CREATE INDEX request_error_minute ON request_error (minute) WHERE minute % 60 <> 0;
