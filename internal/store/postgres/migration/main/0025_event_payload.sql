-- +goose Up
-- keepsake: oldest 25, because earlier programs write the payload of an event into each of its deliveries.

-- What is sent about an event, once for all webhooks of a workspace. An event about the instance has a row for each workspace.
CREATE TABLE event (
    id           TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    payload      TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    PRIMARY KEY (id, workspace_id)
);

INSERT INTO event (id, workspace_id, payload, created_at)
SELECT event_id, workspace_id, payload, created_at FROM webhook_delivery ON CONFLICT DO NOTHING;

ALTER TABLE webhook_delivery DROP COLUMN payload;
CREATE INDEX event_created ON event (created_at);
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id, workspace_id);

-- Since when a delivery waits: its creation, or the last time that it was sent again by hand.
ALTER TABLE webhook_delivery ADD COLUMN pending_since BIGINT NOT NULL DEFAULT 0;
UPDATE webhook_delivery SET pending_since = created_at;

-- How a receiver behaves: failures since the last success, the end of the pause that they cause, and whether its last response
-- was slow. enabled_at is since when the webhook is enabled.
ALTER TABLE webhook ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhook ADD COLUMN paused_until BIGINT;
ALTER TABLE webhook ADD COLUMN slow BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhook ADD COLUMN enabled_at BIGINT NOT NULL DEFAULT 0;
UPDATE webhook SET enabled_at = created_at;

-- The new types are the bits 18 to 21. Webhooks without a list want them, too; others are left out when they are next looked at.
UPDATE webhook_interest SET types = types | 3932160;

-- The bytes of payloads and deliveries count as stored.
INSERT INTO storage AS s (workspace_id, bytes)
SELECT workspace_id, sum(bytes) FROM (
    SELECT workspace_id, octet_length(payload) AS bytes FROM event
    UNION ALL SELECT workspace_id, octet_length(id) + octet_length(webhook_id) + octet_length(event_id) + octet_length(type)
        + octet_length(attempts) FROM webhook_delivery
) counted WHERE workspace_id <> '' GROUP BY workspace_id
ON CONFLICT (workspace_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;

DO $do$
DECLARE
    counted RECORD;
    op      TEXT;
    added   TEXT;
    removed TEXT;
    changed TEXT;
    named   TEXT;
BEGIN
    FOR counted IN SELECT * FROM (VALUES
        ('event', 'octet_length(payload)'),
        ('webhook_delivery', 'octet_length(id) + octet_length(webhook_id) + octet_length(event_id) + octet_length(type) + octet_length(attempts)')
    ) AS tables (name, size) LOOP
        added := format('SELECT workspace_id, (%s)::bigint AS bytes FROM new_rows', counted.size);
        removed := format('SELECT workspace_id, -(%s)::bigint AS bytes FROM old_rows', counted.size);
        FOREACH op IN ARRAY ARRAY['insert', 'update', 'delete'] LOOP
            CASE op
                WHEN 'insert' THEN changed := added; named := 'NEW TABLE AS new_rows';
                WHEN 'delete' THEN changed := removed; named := 'OLD TABLE AS old_rows';
                ELSE changed := added || ' UNION ALL ' || removed; named := 'NEW TABLE AS new_rows OLD TABLE AS old_rows';
            END CASE;
            EXECUTE format($create$
                CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
                BEGIN
                    INSERT INTO storage AS s (workspace_id, bytes)
                    SELECT c.workspace_id, sum(c.bytes) FROM (%s) c WHERE c.workspace_id <> ''
                    GROUP BY c.workspace_id HAVING sum(c.bytes) <> 0 ORDER BY c.workspace_id
                    ON CONFLICT (workspace_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
                    RETURN NULL;
                END
                $body$
            $create$, counted.name || '_storage_' || op, changed);
            EXECUTE format('CREATE TRIGGER %I AFTER %s ON %I REFERENCING %s FOR EACH STATEMENT EXECUTE FUNCTION %I()',
                counted.name || '_storage_' || op, op, counted.name, named, counted.name || '_storage_' || op);
        END LOOP;
    END LOOP;
END
$do$;
