-- +goose Up

CREATE TABLE document (
    workspace_id TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    collection   TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    tags         TEXT    NOT NULL,
    metadata     TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;

CREATE UNIQUE INDEX document_change ON document (workspace_id, change);
CREATE INDEX document_collection ON document (workspace_id, collection, id);

CREATE TABLE document_tag (
    workspace_id TEXT NOT NULL,
    tag          TEXT NOT NULL,
    document_id  TEXT NOT NULL,
    PRIMARY KEY (workspace_id, tag, document_id)
) STRICT, WITHOUT ROWID;

-- What is left of a deleted document, so that an index that was away learns of it.
CREATE TABLE document_tombstone (
    workspace_id TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    change       INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX document_tombstone_change ON document_tombstone (workspace_id, change);

-- The number of a workspace's last change and how many documents it holds.
CREATE TABLE document_head (
    workspace_id TEXT    NOT NULL PRIMARY KEY,
    change       INTEGER NOT NULL,
    documents    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
