-- +goose Up

-- Who used a version of the API: an API key or a user, by which route, with which program.
CREATE TABLE version_caller (
    version      BIGINT           NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    caller_id    TEXT COLLATE "C" NOT NULL,
    route        TEXT COLLATE "C" NOT NULL,
    client       TEXT COLLATE "C" NOT NULL,
    last_at      BIGINT           NOT NULL,
    PRIMARY KEY (version, workspace_id, caller_id, route, client)
);
