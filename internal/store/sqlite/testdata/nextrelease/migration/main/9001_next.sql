-- What a next release might change: it adds a column and a table, and older programs would not keep the table up to date.
-- keepsake: oldest 9001
ALTER TABLE document ADD COLUMN shelf TEXT;

CREATE TABLE bookmark (
    id     TEXT    NOT NULL PRIMARY KEY,
    marked INTEGER NOT NULL
) STRICT;

INSERT INTO bookmark (id, marked) SELECT id, created_at FROM document;
