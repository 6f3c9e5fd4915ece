-- +goose Up
-- keepsake: oldest 25, because earlier programs write the payload of an event into each of its deliveries.

-- What is sent about an event, once for all webhooks of a workspace. An event about the instance has a row for each workspace.
CREATE TABLE event (
    id           TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (id, workspace_id)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO event (id, workspace_id, payload, created_at)
SELECT event_id, workspace_id, payload, created_at FROM webhook_delivery;

ALTER TABLE webhook_delivery DROP COLUMN payload;
CREATE INDEX event_created ON event (created_at);
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id, workspace_id);

-- Since when a delivery waits: its creation, or the last time that it was sent again by hand.
ALTER TABLE webhook_delivery ADD COLUMN pending_since INTEGER NOT NULL DEFAULT 0;
UPDATE webhook_delivery SET pending_since = created_at;

-- How a receiver behaves: failures since the last success, the end of the pause that they cause, and whether its last response
-- was slow. enabled_at is since when the webhook is enabled.
ALTER TABLE webhook ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook ADD COLUMN paused_until INTEGER;
ALTER TABLE webhook ADD COLUMN slow INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook ADD COLUMN enabled_at INTEGER NOT NULL DEFAULT 0;
UPDATE webhook SET enabled_at = created_at;

-- The new types are the bits 18 to 21. Webhooks without a list want them, too; others are left out when they are next looked at.
UPDATE webhook_interest SET types = types | 3932160;

-- The bytes of payloads and deliveries count as stored.
INSERT INTO storage (workspace_id, bytes)
SELECT workspace_id, sum(bytes) FROM (
    SELECT workspace_id, octet_length(payload) AS bytes FROM event
    UNION ALL SELECT workspace_id, octet_length(id) + octet_length(webhook_id) + octet_length(event_id) + octet_length(type)
        + octet_length(attempts) FROM webhook_delivery
) WHERE workspace_id <> '' GROUP BY workspace_id
ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;

CREATE TRIGGER event_storage_insert AFTER INSERT ON event BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.payload))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER event_storage_update AFTER UPDATE OF payload ON event BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.payload) - octet_length(OLD.payload) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER event_storage_delete AFTER DELETE ON event BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.payload) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER webhook_delivery_storage_insert AFTER INSERT ON webhook_delivery BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES (NEW.workspace_id, octet_length(NEW.id) + octet_length(NEW.webhook_id) + octet_length(NEW.event_id)
        + octet_length(NEW.type) + octet_length(NEW.attempts))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER webhook_delivery_storage_update AFTER UPDATE OF attempts ON webhook_delivery BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.attempts) - octet_length(OLD.attempts) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER webhook_delivery_storage_delete AFTER DELETE ON webhook_delivery BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.id) - octet_length(OLD.webhook_id) - octet_length(OLD.event_id)
        - octet_length(OLD.type) - octet_length(OLD.attempts)
    WHERE workspace_id = OLD.workspace_id;
END;
