-- +goose Up

-- The number of the news that a member has said to have heard, where another one waits for that.
ALTER TABLE member ADD COLUMN heard INTEGER NOT NULL DEFAULT 0;
