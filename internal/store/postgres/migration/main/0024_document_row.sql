-- +goose Up
-- keepsake: oldest 24, because earlier programs take an empty collection, empty tags and empty metadata for what they say.

-- Rows of documents become shorter. internal/store/documentrow.go reads and writes them.
ALTER TABLE document RENAME TO document_old;

-- workspace is document_head.number. An empty collection is the default one, empty tags and metadata are none. updated_at is in
-- milliseconds, and age is how many of them the document had existed then. Numbers come first, because they are aligned.
CREATE TABLE document (
    workspace  BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    age        BIGINT           NOT NULL,
    revision   BIGINT           NOT NULL,
    change     BIGINT           NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    collection TEXT COLLATE "C" NOT NULL,
    tags       TEXT COLLATE "C" NOT NULL,
    metadata   TEXT COLLATE "C" NOT NULL,
    url        TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    text       TEXT COLLATE "C" NOT NULL
);

INSERT INTO document (workspace, id, collection, updated_at, age, revision, change, tags, metadata, url, title, text)
SELECT workspace, id, CASE collection WHEN 'default' THEN '' ELSE collection END, updated_at / 1000, updated_at / 1000 - created_at / 1000,
    revision, change, CASE tags WHEN '[]' THEN '' ELSE tags END, CASE metadata WHEN '{}' THEN '' ELSE metadata END, url, title, text
FROM document_old;

DROP TABLE document_old;

ALTER TABLE document ADD PRIMARY KEY (workspace, id);
CREATE UNIQUE INDEX document_change ON document (workspace, change);
CREATE INDEX document_collection ON document (workspace, collection, id);
-- Without the ID, which would be most of it. The documents of one time, at most those of one transaction, are sorted.
CREATE INDEX document_updated ON document (workspace, updated_at);

-- The triggers count the bytes of what a row stands for: 'default', '[]' and '{}' count.
DO $do$
DECLARE
    size    TEXT := '(octet_length(r.id) + CASE r.collection WHEN '''' THEN 7 ELSE octet_length(r.collection) END + octet_length(r.title) + octet_length(r.text) + octet_length(r.url) + greatest(2, octet_length(r.tags)) + greatest(2, octet_length(r.metadata)))::bigint';
    added   TEXT := format('SELECT r.workspace, %s AS bytes FROM new_rows r', size);
    removed TEXT := format('SELECT r.workspace, -%s AS bytes FROM old_rows r', size);
    op      TEXT;
    changed TEXT;
    named   TEXT;
BEGIN
    FOREACH op IN ARRAY ARRAY['insert', 'update', 'delete'] LOOP
        CASE op
            WHEN 'insert' THEN changed := added; named := 'NEW TABLE AS new_rows';
            WHEN 'delete' THEN changed := removed; named := 'OLD TABLE AS old_rows';
            ELSE changed := added || ' UNION ALL ' || removed; named := 'NEW TABLE AS new_rows OLD TABLE AS old_rows';
        END CASE;
        EXECUTE format($create$
            CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
            BEGIN
                INSERT INTO storage AS s (workspace_id, bytes)
                SELECT h.workspace_id, sum(c.bytes) FROM (%s) c LEFT JOIN document_head h ON h.number = c.workspace
                GROUP BY h.workspace_id HAVING sum(c.bytes) <> 0 ORDER BY h.workspace_id
                ON CONFLICT (workspace_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
                RETURN NULL;
            END
            $body$
        $create$, 'document_storage_' || op, changed);
        EXECUTE format('CREATE TRIGGER %I AFTER %s ON document REFERENCING %s FOR EACH STATEMENT EXECUTE FUNCTION %I()',
            'document_storage_' || op, op, named, 'document_storage_' || op);
    END LOOP;
END
$do$;
