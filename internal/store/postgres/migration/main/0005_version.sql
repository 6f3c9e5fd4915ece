-- +goose Up

-- Versions of the API that were released while the service ran, and version 1 once its end is announced.
CREATE TABLE api_version (
    number       BIGINT           NOT NULL PRIMARY KEY,
    since        BIGINT           NOT NULL,
    announced_at BIGINT,
    sunset_at    BIGINT,
    retired_at   BIGINT,
    guide_url    TEXT COLLATE "C" NOT NULL,
    backdated    BOOLEAN          NOT NULL,
    revision     BIGINT           NOT NULL
);

-- API keys that see a version as after its sunset.
CREATE TABLE sunset_rehearsal (
    version      BIGINT           NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    until        BIGINT           NOT NULL,
    PRIMARY KEY (version, key_id)
);
