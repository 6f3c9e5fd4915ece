-- What a next release might add: columns of tables that all writers use, and a table that the last release knows nothing of.
ALTER TABLE document ADD COLUMN shelf TEXT COLLATE "C";
ALTER TABLE api_key ADD COLUMN note TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE news ADD COLUMN author TEXT COLLATE "C";
ALTER TABLE member ADD COLUMN zone TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE bookmark (
    id     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    marked BIGINT           NOT NULL
);
