-- +goose Up

-- The addresses to which a workspace's events are delivered. sealed holds the URL and the secrets; events is a JSON list.
CREATE TABLE webhook (
    id              TEXT    NOT NULL PRIMARY KEY,
    workspace_id    TEXT    NOT NULL,
    events          TEXT    NOT NULL,
    sealed          BLOB    NOT NULL,
    description     TEXT    NOT NULL,
    disabled_at     INTEGER,
    disabled_reason TEXT    NOT NULL,
    failing_since   INTEGER,
    last_success_at INTEGER,
    created_at      INTEGER NOT NULL,
    created_by      TEXT    NOT NULL,
    updated_at      INTEGER NOT NULL,
    revision        INTEGER NOT NULL
) STRICT;

CREATE INDEX webhook_workspace ON webhook (workspace_id, id);

-- The types of events, as bits, for which the transactions of a workspace look for webhooks. Processes hold this table in
-- memory, so a type is added before a webhook wants it: see internal/govern/event.
CREATE TABLE webhook_interest (
    workspace_id TEXT    NOT NULL PRIMARY KEY,
    types        INTEGER NOT NULL,
    widened_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events for each webhook that gets them, and their attempts as JSON. due_at is the time of the next attempt, or, while a
-- process has claimed the row, the time at which its claim ends.
CREATE TABLE webhook_delivery (
    id           TEXT    NOT NULL PRIMARY KEY,
    webhook_id   TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    event_id     TEXT    NOT NULL,
    type         TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    due_at       INTEGER,
    claim        TEXT    NOT NULL,
    tries        INTEGER NOT NULL,
    tries_since  INTEGER,
    finished_at  INTEGER,
    attempts     TEXT    NOT NULL
) STRICT;

CREATE INDEX webhook_delivery_webhook ON webhook_delivery (webhook_id, id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_created ON webhook_delivery (created_at);

-- The names of events that are recorded once, such as a quota's threshold in a period.
CREATE TABLE event_once (
    name TEXT    NOT NULL PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX event_once_at ON event_once (at);
