-- +goose Up
-- keepsake: oldest 24, because earlier programs take an empty collection, empty tags and empty metadata for what they say.

-- Rows of documents become shorter. internal/store/documentrow.go reads and writes them.
DROP TRIGGER document_storage_insert;
DROP TRIGGER document_storage_update;
DROP TRIGGER document_storage_delete;

ALTER TABLE document RENAME TO document_old;

-- workspace is document_head.number. An empty collection is the default one, empty tags and metadata are none. updated_at is in
-- milliseconds, and age is how many of them the document had existed then. The longest text is last, so that the other columns
-- are read without it.
CREATE TABLE document (
    workspace  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    collection TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    age        INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    change     INTEGER NOT NULL,
    tags       TEXT    NOT NULL,
    metadata   TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT;

INSERT INTO document (workspace, id, collection, updated_at, age, revision, change, tags, metadata, url, title, text)
SELECT workspace, id, CASE collection WHEN 'default' THEN '' ELSE collection END, updated_at / 1000, updated_at / 1000 - created_at / 1000,
    revision, change, CASE tags WHEN '[]' THEN '' ELSE tags END, CASE metadata WHEN '{}' THEN '' ELSE metadata END, url, title, text
FROM document_old;

DROP TABLE document_old;

CREATE UNIQUE INDEX document_change ON document (workspace, change);
CREATE INDEX document_collection ON document (workspace, collection, id);
-- Without the ID, which would be most of it. The documents of one time, at most those of one transaction, are sorted.
CREATE INDEX document_updated ON document (workspace, updated_at);

-- The bytes of what a row stands for: 'default', '[]' and '{}' count.
CREATE TRIGGER document_storage_insert AFTER INSERT ON document BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES ((SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace),
        octet_length(NEW.id) + iif(NEW.collection = '', 7, octet_length(NEW.collection)) + octet_length(NEW.title)
        + octet_length(NEW.text) + octet_length(NEW.url) + max(2, octet_length(NEW.tags)) + max(2, octet_length(NEW.metadata)))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER document_storage_update AFTER UPDATE ON document BEGIN
    UPDATE storage SET bytes = bytes
        + octet_length(NEW.id) + iif(NEW.collection = '', 7, octet_length(NEW.collection)) + octet_length(NEW.title)
        + octet_length(NEW.text) + octet_length(NEW.url) + max(2, octet_length(NEW.tags)) + max(2, octet_length(NEW.metadata))
        - octet_length(OLD.id) - iif(OLD.collection = '', 7, octet_length(OLD.collection)) - octet_length(OLD.title)
        - octet_length(OLD.text) - octet_length(OLD.url) - max(2, octet_length(OLD.tags)) - max(2, octet_length(OLD.metadata))
    WHERE workspace_id = (SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace);
END;
CREATE TRIGGER document_storage_delete AFTER DELETE ON document BEGIN
    UPDATE storage SET bytes = bytes
        - octet_length(OLD.id) - iif(OLD.collection = '', 7, octet_length(OLD.collection)) - octet_length(OLD.title)
        - octet_length(OLD.text) - octet_length(OLD.url) - max(2, octet_length(OLD.tags)) - max(2, octet_length(OLD.metadata))
    WHERE workspace_id = (SELECT h.workspace_id FROM document_head h WHERE h.number = OLD.workspace);
END;
