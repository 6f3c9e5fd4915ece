-- +goose Up
-- keepsake: oldest 16, as before: earlier programs keep the index up to date, and it is made in a moment.

-- Lists of documents in the order of their last change.
CREATE INDEX document_updated ON document (workspace_id, updated_at, id);
