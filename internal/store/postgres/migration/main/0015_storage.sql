-- +goose Up
-- keepsake: oldest 10, as before: triggers count what earlier programs write, too, and the first count is one pass over the tables.

-- A tier's limit of bytes: -1 for none; NULL where the configured one counts.
ALTER TABLE tier ADD COLUMN storage BIGINT;

-- Whose a kept answer is. One that an earlier release kept does not say, and is not counted.
ALTER TABLE kept_answer ADD COLUMN workspace_id TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The bytes that the rows of a workspace take. Triggers count, so that the number is that of the rows whichever program
-- writes them.
CREATE TABLE storage (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bytes        BIGINT           NOT NULL
);

-- Nobody writes between the first count and the triggers.
LOCK TABLE document, memory, memory_revision, memory_plan, kept_answer IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO storage (workspace_id, bytes)
SELECT workspace_id, sum(bytes) FROM (
    SELECT workspace_id, octet_length(id) + octet_length(collection) + octet_length(title) + octet_length(text)
        + octet_length(url) + octet_length(tags) + octet_length(metadata) AS bytes FROM document
    UNION ALL SELECT workspace_id, octet_length(sealed) FROM memory
    UNION ALL SELECT workspace_id, octet_length(sealed) FROM memory_revision
    UNION ALL SELECT workspace_id, octet_length(memory_ids) FROM memory_plan
) counted GROUP BY workspace_id;

-- One trigger for each table and kind of statement adds up what the statement changed.
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
        ('document', 'octet_length(id) + octet_length(collection) + octet_length(title) + octet_length(text) + octet_length(url) + octet_length(tags) + octet_length(metadata)'),
        ('memory', 'octet_length(sealed)'),
        ('memory_revision', 'octet_length(sealed)'),
        ('memory_plan', 'octet_length(memory_ids)'),
        ('kept_answer', 'octet_length(body) + octet_length(sealed) + octet_length(sealed_by)')
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
