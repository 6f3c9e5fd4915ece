-- +goose Up
-- keepsake: oldest 26, as before: earlier programs count the texts of a day for all workspaces together.

-- How many texts of a workspace were sent to the embeddings endpoint on a day since 1970, of those that were sent after half of
-- the day's limit was used.
CREATE TABLE embedding_share (
    day          BIGINT NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    texts        BIGINT NOT NULL,
    PRIMARY KEY (day, workspace_id)
);
