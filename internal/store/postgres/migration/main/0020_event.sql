-- +goose Up

-- The addresses to which a workspace's events are delivered. sealed holds the URL and the secrets; events is a JSON list.
CREATE TABLE webhook (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id    TEXT COLLATE "C" NOT NULL,
    events          TEXT COLLATE "C" NOT NULL,
    sealed          BYTEA   NOT NULL,
    description     TEXT COLLATE "C" NOT NULL,
    disabled_at     BIGINT,
    disabled_reason TEXT COLLATE "C" NOT NULL,
    failing_since   BIGINT,
    last_success_at BIGINT,
    created_at      BIGINT NOT NULL,
    created_by      TEXT COLLATE "C" NOT NULL,
    updated_at      BIGINT NOT NULL,
    revision        BIGINT NOT NULL
);

CREATE INDEX webhook_workspace ON webhook (workspace_id, id);

-- The types of events, as bits, for which the transactions of a workspace look for webhooks. Processes hold this table in
-- memory, so a type is added before a webhook wants it: see internal/govern/event.
CREATE TABLE webhook_interest (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    types        BIGINT NOT NULL,
    widened_at   BIGINT NOT NULL
);

-- Events for each webhook that gets them, and their attempts as JSON. due_at is the time of the next attempt, or, while a
-- process has claimed the row, the time at which its claim ends.
CREATE TABLE webhook_delivery (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    webhook_id   TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    event_id     TEXT COLLATE "C" NOT NULL,
    type         TEXT COLLATE "C" NOT NULL,
    payload      TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    due_at       BIGINT,
    claim        TEXT COLLATE "C" NOT NULL,
    tries        BIGINT NOT NULL,
    tries_since  BIGINT,
    finished_at  BIGINT,
    attempts     TEXT COLLATE "C" NOT NULL
);

CREATE INDEX webhook_delivery_webhook ON webhook_delivery (webhook_id, id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_created ON webhook_delivery (created_at);

-- The names of events that are recorded once, such as a quota's threshold in a period.
CREATE TABLE event_once (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at   BIGINT NOT NULL
);

CREATE INDEX event_once_at ON event_once (at);
