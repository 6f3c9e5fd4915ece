-- +goose Up

-- Lists of documents in the order of their last change.
CREATE INDEX document_updated ON document (workspace_id, updated_at, id);
