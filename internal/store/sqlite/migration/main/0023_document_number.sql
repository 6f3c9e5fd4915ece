-- +goose Up
-- keepsake: oldest 23, because earlier programs look for documents by the ID of their workspace.

-- Each workspace with documents gets a number. The tables of documents and their indexes contain it instead of the ID, which
-- is 30 bytes long and was in each row five times.
DROP TRIGGER document_storage_insert;
DROP TRIGGER document_storage_update;
DROP TRIGGER document_storage_delete;

ALTER TABLE document_head RENAME TO document_head_old;
ALTER TABLE document RENAME TO document_old;
ALTER TABLE document_tag RENAME TO document_tag_old;
ALTER TABLE document_tombstone RENAME TO document_tombstone_old;

-- The number of a workspace, the number of its last change and how many documents it has.
CREATE TABLE document_head (
    number       INTEGER NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL UNIQUE,
    change       INTEGER NOT NULL,
    documents    INTEGER NOT NULL
) STRICT;

INSERT INTO document_head (workspace_id, change, documents) SELECT workspace_id, change, documents FROM document_head_old ORDER BY workspace_id;

-- workspace is document_head.number.
CREATE TABLE document (
    workspace  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    collection TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    tags       TEXT    NOT NULL,
    metadata   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    change     INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT;

INSERT INTO document
SELECT h.number, d.id, d.collection, d.title, d.text, d.url, d.tags, d.metadata, d.created_at, d.updated_at, d.revision, d.change
FROM document_old d CROSS JOIN document_head h ON h.workspace_id = d.workspace_id;

CREATE TABLE document_tag (
    workspace   INTEGER NOT NULL,
    tag         TEXT    NOT NULL,
    document_id TEXT    NOT NULL,
    PRIMARY KEY (workspace, tag, document_id)
) STRICT, WITHOUT ROWID;

INSERT INTO document_tag
SELECT h.number, t.tag, t.document_id FROM document_tag_old t CROSS JOIN document_head h ON h.workspace_id = t.workspace_id;

-- What is left of a deleted document, so that an index that was away learns of it.
CREATE TABLE document_tombstone (
    workspace INTEGER NOT NULL,
    id        TEXT    NOT NULL,
    change    INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

INSERT INTO document_tombstone
SELECT h.number, t.id, t.change FROM document_tombstone_old t CROSS JOIN document_head h ON h.workspace_id = t.workspace_id;

DROP TABLE document_old;
DROP TABLE document_tag_old;
DROP TABLE document_tombstone_old;
DROP TABLE document_head_old;

CREATE UNIQUE INDEX document_change ON document (workspace, change);
CREATE INDEX document_updated ON document (workspace, updated_at, id);
CREATE INDEX document_collection ON document (workspace, collection, id);
CREATE UNIQUE INDEX document_tombstone_change ON document_tombstone (workspace, change);

CREATE TRIGGER document_storage_insert AFTER INSERT ON document BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES ((SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace),
        octet_length(NEW.id) + octet_length(NEW.collection) + octet_length(NEW.title) + octet_length(NEW.text)
        + octet_length(NEW.url) + octet_length(NEW.tags) + octet_length(NEW.metadata))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER document_storage_update AFTER UPDATE ON document BEGIN
    UPDATE storage SET bytes = bytes
        + octet_length(NEW.id) + octet_length(NEW.collection) + octet_length(NEW.title) + octet_length(NEW.text)
        + octet_length(NEW.url) + octet_length(NEW.tags) + octet_length(NEW.metadata)
        - octet_length(OLD.id) - octet_length(OLD.collection) - octet_length(OLD.title) - octet_length(OLD.text)
        - octet_length(OLD.url) - octet_length(OLD.tags) - octet_length(OLD.metadata)
    WHERE workspace_id = (SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace);
END;
CREATE TRIGGER document_storage_delete AFTER DELETE ON document BEGIN
    UPDATE storage SET bytes = bytes
        - octet_length(OLD.id) - octet_length(OLD.collection) - octet_length(OLD.title) - octet_length(OLD.text)
        - octet_length(OLD.url) - octet_length(OLD.tags) - octet_length(OLD.metadata)
    WHERE workspace_id = (SELECT h.workspace_id FROM document_head h WHERE h.number = OLD.workspace);
END;
