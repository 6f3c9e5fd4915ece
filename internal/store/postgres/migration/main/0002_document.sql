-- +goose Up

CREATE TABLE document (
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    collection   TEXT COLLATE "C" NOT NULL,
    title        TEXT COLLATE "C" NOT NULL,
    text         TEXT COLLATE "C" NOT NULL,
    url          TEXT COLLATE "C" NOT NULL,
    tags         TEXT COLLATE "C" NOT NULL,
    metadata     TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    updated_at   BIGINT           NOT NULL,
    revision     BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE UNIQUE INDEX document_change ON document (workspace_id, change);
CREATE INDEX document_collection ON document (workspace_id, collection, id);

CREATE TABLE document_tag (
    workspace_id TEXT COLLATE "C" NOT NULL,
    tag          TEXT COLLATE "C" NOT NULL,
    document_id  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, tag, document_id)
);

-- What is left of a deleted document, so that an index that was away learns of it.
CREATE TABLE document_tombstone (
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    change       BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE UNIQUE INDEX document_tombstone_change ON document_tombstone (workspace_id, change);

-- The number of a workspace's last change and how many documents it holds.
CREATE TABLE document_head (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    change       BIGINT           NOT NULL,
    documents    BIGINT           NOT NULL
);
