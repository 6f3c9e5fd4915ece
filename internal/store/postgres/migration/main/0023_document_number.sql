-- +goose Up
-- keepsake: oldest 23, because earlier programs look for documents by the ID of their workspace.

-- Each workspace with documents gets a number. The tables of documents and their indexes contain it instead of the ID, which
-- is 30 bytes long and was in each row five times.
ALTER TABLE document_head RENAME TO document_head_old;
ALTER TABLE document RENAME TO document_old;
ALTER TABLE document_tag RENAME TO document_tag_old;
ALTER TABLE document_tombstone RENAME TO document_tombstone_old;

-- The number of a workspace, the number of its last change and how many documents it has.
CREATE TABLE document_head (
    number       BIGINT           NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    change       BIGINT           NOT NULL,
    documents    BIGINT           NOT NULL
);

INSERT INTO document_head
SELECT row_number() OVER (ORDER BY workspace_id), workspace_id, change, documents FROM document_head_old;

-- workspace is document_head.number.
CREATE TABLE document (
    workspace  BIGINT           NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    collection TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    text       TEXT COLLATE "C" NOT NULL,
    url        TEXT COLLATE "C" NOT NULL,
    tags       TEXT COLLATE "C" NOT NULL,
    metadata   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    revision   BIGINT           NOT NULL,
    change     BIGINT           NOT NULL
);

INSERT INTO document
SELECT h.number, d.id, d.collection, d.title, d.text, d.url, d.tags, d.metadata, d.created_at, d.updated_at, d.revision, d.change
FROM document_old d JOIN document_head h ON h.workspace_id = d.workspace_id;

CREATE TABLE document_tag (
    workspace   BIGINT           NOT NULL,
    tag         TEXT COLLATE "C" NOT NULL,
    document_id TEXT COLLATE "C" NOT NULL
);

INSERT INTO document_tag
SELECT h.number, t.tag, t.document_id FROM document_tag_old t JOIN document_head h ON h.workspace_id = t.workspace_id;

-- What is left of a deleted document, so that an index that was away learns of it.
CREATE TABLE document_tombstone (
    workspace BIGINT           NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    change    BIGINT           NOT NULL
);

INSERT INTO document_tombstone
SELECT h.number, t.id, t.change FROM document_tombstone_old t JOIN document_head h ON h.workspace_id = t.workspace_id;

DROP TABLE document_old, document_tag_old, document_tombstone_old, document_head_old;

ALTER TABLE document_head ADD PRIMARY KEY (number), ADD UNIQUE (workspace_id);
ALTER TABLE document ADD PRIMARY KEY (workspace, id);
ALTER TABLE document_tag ADD PRIMARY KEY (workspace, tag, document_id);
ALTER TABLE document_tombstone ADD PRIMARY KEY (workspace, id);
CREATE UNIQUE INDEX document_change ON document (workspace, change);
CREATE INDEX document_updated ON document (workspace, updated_at, id);
CREATE INDEX document_collection ON document (workspace, collection, id);
CREATE UNIQUE INDEX document_tombstone_change ON document_tombstone (workspace, change);

-- The triggers that count the bytes of a workspace, as for the other tables.
DO $do$
DECLARE
    size    TEXT := '(octet_length(r.id) + octet_length(r.collection) + octet_length(r.title) + octet_length(r.text) + octet_length(r.url) + octet_length(r.tags) + octet_length(r.metadata))::bigint';
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
