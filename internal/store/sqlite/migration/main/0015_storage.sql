-- +goose Up
-- keepsake: oldest 10, as before: triggers count what earlier programs write, too, and the first count is one pass over the tables.

-- A tier's limit of bytes: -1 for none; NULL where the configured one counts.
ALTER TABLE tier ADD COLUMN storage INTEGER;

-- Whose a kept answer is. One that an earlier release kept does not say, and is not counted.
ALTER TABLE kept_answer ADD COLUMN workspace_id TEXT NOT NULL DEFAULT '';

-- The bytes that the rows of a workspace take. Triggers count, so that the number is that of the rows whichever program
-- writes them.
CREATE TABLE storage (
    workspace_id TEXT    NOT NULL PRIMARY KEY,
    bytes        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO storage (workspace_id, bytes)
SELECT workspace_id, sum(bytes) FROM (
    SELECT workspace_id, octet_length(id) + octet_length(collection) + octet_length(title) + octet_length(text)
        + octet_length(url) + octet_length(tags) + octet_length(metadata) AS bytes FROM document
    UNION ALL SELECT workspace_id, octet_length(sealed) FROM memory
    UNION ALL SELECT workspace_id, octet_length(sealed) FROM memory_revision
    UNION ALL SELECT workspace_id, octet_length(memory_ids) FROM memory_plan
) GROUP BY workspace_id;

CREATE TRIGGER document_storage_insert AFTER INSERT ON document BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES (NEW.workspace_id, octet_length(NEW.id) + octet_length(NEW.collection) + octet_length(NEW.title) + octet_length(NEW.text)
        + octet_length(NEW.url) + octet_length(NEW.tags) + octet_length(NEW.metadata))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER document_storage_update AFTER UPDATE ON document BEGIN
    UPDATE storage SET bytes = bytes
        + octet_length(NEW.id) + octet_length(NEW.collection) + octet_length(NEW.title) + octet_length(NEW.text)
        + octet_length(NEW.url) + octet_length(NEW.tags) + octet_length(NEW.metadata)
        - octet_length(OLD.id) - octet_length(OLD.collection) - octet_length(OLD.title) - octet_length(OLD.text)
        - octet_length(OLD.url) - octet_length(OLD.tags) - octet_length(OLD.metadata)
    WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER document_storage_delete AFTER DELETE ON document BEGIN
    UPDATE storage SET bytes = bytes
        - octet_length(OLD.id) - octet_length(OLD.collection) - octet_length(OLD.title) - octet_length(OLD.text)
        - octet_length(OLD.url) - octet_length(OLD.tags) - octet_length(OLD.metadata)
    WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER memory_storage_insert AFTER INSERT ON memory BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.sealed))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER memory_storage_update AFTER UPDATE OF sealed ON memory BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.sealed) - octet_length(OLD.sealed) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER memory_storage_delete AFTER DELETE ON memory BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.sealed) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER memory_revision_storage_insert AFTER INSERT ON memory_revision BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.sealed))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER memory_revision_storage_update AFTER UPDATE OF sealed ON memory_revision BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.sealed) - octet_length(OLD.sealed) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER memory_revision_storage_delete AFTER DELETE ON memory_revision BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.sealed) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER memory_plan_storage_insert AFTER INSERT ON memory_plan BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.memory_ids))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER memory_plan_storage_delete AFTER DELETE ON memory_plan BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.memory_ids) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER kept_answer_storage_insert AFTER INSERT ON kept_answer WHEN NEW.workspace_id <> '' BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES (NEW.workspace_id, octet_length(NEW.body) + octet_length(NEW.sealed) + octet_length(NEW.sealed_by))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER kept_answer_storage_update AFTER UPDATE ON kept_answer BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.body) - octet_length(OLD.sealed) - octet_length(OLD.sealed_by)
    WHERE workspace_id = OLD.workspace_id;
    INSERT INTO storage (workspace_id, bytes)
    SELECT NEW.workspace_id, octet_length(NEW.body) + octet_length(NEW.sealed) + octet_length(NEW.sealed_by) WHERE NEW.workspace_id <> ''
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER kept_answer_storage_delete AFTER DELETE ON kept_answer BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.body) - octet_length(OLD.sealed) - octet_length(OLD.sealed_by)
    WHERE workspace_id = OLD.workspace_id;
END;
