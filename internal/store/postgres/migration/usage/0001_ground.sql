-- +goose Up

CREATE TABLE instance (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

CREATE TABLE probe (
    id     BIGINT NOT NULL PRIMARY KEY,
    filler BYTEA  NOT NULL
);

CREATE TABLE usage_minute (
    workspace_id TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    minute       BIGINT           NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    requests     BIGINT           NOT NULL,
    charged      BIGINT           NOT NULL,
    bytes_in     BIGINT           NOT NULL,
    bytes_out    BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, key_id, minute, route, method, status, version, surface)
);

CREATE INDEX usage_minute_age ON usage_minute (minute);

CREATE TABLE usage_hour (
    workspace_id TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    hour         BIGINT           NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    status       BIGINT           NOT NULL,
    version      BIGINT           NOT NULL,
    surface      TEXT COLLATE "C" NOT NULL,
    requests     BIGINT           NOT NULL,
    charged      BIGINT           NOT NULL,
    bytes_in     BIGINT           NOT NULL,
    bytes_out    BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, key_id, hour, route, method, status, version, surface)
);

CREATE INDEX usage_hour_age ON usage_hour (hour);

-- What an owner, a workspace or a key, was charged in a UTC day ("2026-11-21") or month ("2026-11").
CREATE TABLE usage_quota (
    period   TEXT COLLATE "C" NOT NULL,
    owner_id TEXT COLLATE "C" NOT NULL,
    charged  BIGINT           NOT NULL,
    PRIMARY KEY (period, owner_id)
);

CREATE TABLE last_use (
    key_id  TEXT COLLATE "C" NOT NULL,
    hint    TEXT COLLATE "C" NOT NULL,
    used_at BIGINT           NOT NULL,
    PRIMARY KEY (key_id, hint)
);
