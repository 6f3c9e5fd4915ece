-- The ID of the instance that this schema belongs to, in one row. keepsake_keys and keepsake_usage contain the same ID.
CREATE TABLE instance (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

-- Only the other engine writes it, to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     BIGINT NOT NULL PRIMARY KEY,
    filler BYTEA  NOT NULL
);

-- How far a move into this database is. While there are rows, the database is incomplete and must not be served.
CREATE TABLE move_progress (
    part   TEXT COLLATE "C" NOT NULL,
    name   TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    after  TEXT COLLATE "C" NOT NULL,
    copied BIGINT           NOT NULL,
    done   BOOLEAN          NOT NULL,
    PRIMARY KEY (part, name)
);

-- Workspaces, their users and their limits.

CREATE TABLE workspace (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    tier       TEXT COLLATE "C" NOT NULL,
    operator   BOOLEAN          NOT NULL,
    suspended  BOOLEAN          NOT NULL,
    embeddings BOOLEAN          NOT NULL, -- texts of the workspace are sent to the embeddings endpoint
    -- The engines of its search index: the one that it is to have, and the one that searches read. They differ during a move.
    search_engine  TEXT COLLATE "C" NOT NULL,
    search_serving TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    revision   BIGINT           NOT NULL
);

CREATE UNIQUE INDEX workspace_operator ON workspace (operator) WHERE operator;

CREATE TABLE account_user (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id  TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    email         TEXT COLLATE "C" NOT NULL UNIQUE,
    name          TEXT COLLATE "C" NOT NULL,
    role          TEXT COLLATE "C" NOT NULL,
    password_hash TEXT COLLATE "C" NOT NULL,
    disabled      BOOLEAN          NOT NULL,
    created_at    BIGINT           NOT NULL,
    last_login_at BIGINT,
    revision      BIGINT           NOT NULL
);

CREATE INDEX account_user_workspace ON account_user (workspace_id, id);

-- Tiers that were changed while the service ran. They replace the configured ones. A count of -1 means no limit.
CREATE TABLE tier (
    name                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    requests_per_minute BIGINT           NOT NULL,
    daily               BIGINT           NOT NULL,
    monthly             BIGINT           NOT NULL,
    keys                BIGINT           NOT NULL,
    users               BIGINT           NOT NULL,
    documents           BIGINT           NOT NULL,
    memories            BIGINT           NOT NULL,
    storage             BIGINT           NOT NULL, -- in bytes
    revision            BIGINT           NOT NULL
);

-- API keys, sessions and attempts to log in.

-- subject_id and agent_id are sealed, because they can be names of people.
CREATE TABLE api_key (
    id                  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id        TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    name                TEXT COLLATE "C" NOT NULL,
    scopes              TEXT COLLATE "C" NOT NULL,
    expires_at          BIGINT,
    requests_per_minute BIGINT,
    daily               BIGINT,
    monthly             BIGINT,
    subject_id          TEXT COLLATE "C" NOT NULL,
    agent_id            TEXT COLLATE "C" NOT NULL,
    allowed_ips         TEXT COLLATE "C" NOT NULL,
    metadata            TEXT COLLATE "C" NOT NULL,
    created_at          BIGINT           NOT NULL,
    created_by          TEXT COLLATE "C" NOT NULL,
    updated_at          BIGINT           NOT NULL,
    disabled_at         BIGINT,
    revoked_at          BIGINT,
    revoke_reason       TEXT COLLATE "C" NOT NULL,
    revision            BIGINT           NOT NULL
);

CREATE INDEX api_key_newest ON api_key (workspace_id, created_at DESC, id DESC);

-- Keyed hashes of the secrets of API keys. A key has two while it is rotated.
CREATE TABLE api_key_secret (
    key_id      TEXT COLLATE "C" NOT NULL REFERENCES api_key (id),
    hash        BYTEA            NOT NULL UNIQUE,
    hint        TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    valid_until BIGINT,
    PRIMARY KEY (key_id, hash)
);

-- Logins. The sessions of a deleted user stay, ended.
CREATE TABLE session (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    expires_at   BIGINT           NOT NULL,
    ended_at     BIGINT
);

CREATE INDEX session_of_user ON session (user_id) WHERE ended_at IS NULL;
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_ended ON session (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE refresh_token (
    hash       BYTEA            NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL REFERENCES session (id),
    created_at BIGINT           NOT NULL,
    expires_at BIGINT           NOT NULL,
    used_at    BIGINT
);

CREATE INDEX refresh_token_session ON refresh_token (session_id);
CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);

-- Wrong passwords and keys. name is a keyed hash, and state is not for SQL.
CREATE TABLE login_guess (
    name  BYTEA  NOT NULL PRIMARY KEY,
    state BYTEA  NOT NULL,
    until BIGINT NOT NULL
);

CREATE INDEX login_guess_until ON login_guess (until);

-- Responses to requests with an Idempotency-Key.

-- A response that is about subjects is in sealed, encrypted with the key in key_slot of erasable_key; other responses are in body.
CREATE TABLE kept_answer (
    claim        BYTEA            NOT NULL PRIMARY KEY,
    request      BYTEA            NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL, -- empty for a response that no workspace's storage counts
    status       BIGINT           NOT NULL,
    location     TEXT COLLATE "C" NOT NULL,
    etag         TEXT COLLATE "C" NOT NULL,
    has_body     BOOLEAN          NOT NULL,
    created_at   BIGINT           NOT NULL,
    expires_at   BIGINT           NOT NULL,
    key_slot     BIGINT,
    sealed_by    TEXT COLLATE "C" NOT NULL,
    sealed       BYTEA            NOT NULL,
    body         BYTEA            NOT NULL
);

CREATE INDEX kept_answer_expiry ON kept_answer (expires_at);

-- The subjects that a response is about. It is removed when one of their memories is erased.
CREATE TABLE kept_answer_subject (
    workspace_id TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    claim        BYTEA            NOT NULL,
    expires_at   BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, subject, claim)
);

CREATE INDEX kept_answer_subject_expiry ON kept_answer_subject (expires_at);

-- Documents. Their tables and indexes contain the number of a workspace, because its ID would be 30 bytes of each row five times.

-- The number of a workspace, the number and the mark of its last change, and how many documents it has.
CREATE TABLE document_head (
    number       BIGINT           NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL UNIQUE,
    change       BIGINT           NOT NULL,
    documents    BIGINT           NOT NULL,
    mark         BIGINT           NOT NULL -- a random number of each transaction that changes documents; 0 before the first
);

-- The marks of the last transactions of each workspace, with the numbers of their last changes. If the transaction that made a change
-- has another mark than it had for an index, the database has lost changes that the index can contain, as after a restore.
-- workspace is document_head.number.
CREATE TABLE document_mark (
    workspace BIGINT NOT NULL,
    change    BIGINT NOT NULL,
    mark      BIGINT NOT NULL,
    PRIMARY KEY (workspace, change)
);

-- An index that lacks more changes than there are documents is built in about the time in which it would read them. So no more marks than
-- that are needed.
CREATE FUNCTION document_marked() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
BEGIN
    INSERT INTO document_mark (workspace, change, mark) VALUES (NEW.number, NEW.change, NEW.mark);
    IF NEW.change / 1000 > OLD.change / 1000 THEN
        DELETE FROM document_mark WHERE workspace = NEW.number AND change < NEW.change - 10000 - NEW.documents;
    END IF;
    RETURN NULL;
END
$body$;
CREATE TRIGGER document_marked AFTER UPDATE ON document_head FOR EACH ROW
    WHEN (NEW.change > OLD.change) EXECUTE FUNCTION document_marked();

-- workspace is document_head.number. Times are in milliseconds.
-- Columns of a fixed length are first, so that no padding is needed before them. The longest text is last.
CREATE TABLE document (
    workspace  BIGINT           NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    revision   BIGINT           NOT NULL,
    change     BIGINT           NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    collection TEXT COLLATE "C" NOT NULL,
    language   TEXT COLLATE "C" NOT NULL, -- empty: none was given
    tags       TEXT COLLATE "C" NOT NULL,
    metadata   TEXT COLLATE "C" NOT NULL,
    url        TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    text       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, id)
);

CREATE UNIQUE INDEX document_change ON document (workspace, change);
CREATE INDEX document_collection ON document (workspace, collection, id);
-- Without the ID, which would be most of it. The documents of one time, at most those of one transaction, are sorted.
CREATE INDEX document_updated ON document (workspace, updated_at);

CREATE TABLE document_tag (
    workspace   BIGINT           NOT NULL,
    tag         TEXT COLLATE "C" NOT NULL,
    document_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, tag, document_id)
);

-- Deleted documents, for search indexes that have not read the change yet.
CREATE TABLE document_tombstone (
    workspace BIGINT           NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    change    BIGINT           NOT NULL,
    PRIMARY KEY (workspace, id)
);

CREATE UNIQUE INDEX document_tombstone_change ON document_tombstone (workspace, change);

-- The collections of documents, and their settings as JSON. A collection without documents and settings has a row only if it had
-- settings, for search indexes that have not read the change yet. workspace is document_head.number; updated_at is in milliseconds.
CREATE TABLE collection (
    workspace  BIGINT           NOT NULL,
    documents  BIGINT           NOT NULL, -- how many it has
    revision   BIGINT           NOT NULL, -- of the settings
    change     BIGINT           NOT NULL, -- the change that wrote or removed the settings; 0 for none
    updated_at BIGINT,                    -- NULL without settings
    synonyms   BIGINT           NOT NULL, -- rows
    name       TEXT COLLATE "C" NOT NULL,
    settings   TEXT COLLATE "C" NOT NULL, -- empty for none
    PRIMARY KEY (workspace, name)
);

CREATE UNIQUE INDEX collection_change ON collection (workspace, change) WHERE change > 0;

-- Memories. Hashes are keyed: without the instance's secrets they reveal nothing. key_hash and same_hash are keyed by the
-- subject's data key, and reveal nothing once it is destroyed.

-- People. After an erasure the row stays, without a name, so that the number of a generation is never used again.
CREATE TABLE memory_subject (
    workspace_id TEXT COLLATE "C"  NOT NULL,
    subject      BYTEA             NOT NULL,
    generation   BIGINT            NOT NULL,
    change       BIGINT            NOT NULL,
    sealed_id    BYTEA,
    memories     BIGINT            NOT NULL,
    bytes        BIGINT            NOT NULL,
    created_at   BIGINT            NOT NULL,
    updated_at   BIGINT            NOT NULL,
    erased_at    BIGINT,
    embedded     BIGINT, -- the change up to which the memories have vectors; NULL for none
    embedded_by  TEXT COLLATE "C",    -- the model of the vectors
    PRIMARY KEY (workspace_id, subject)
);

CREATE INDEX memory_subject_created ON memory_subject (workspace_id, created_at, subject) WHERE sealed_id IS NOT NULL;

-- The current revisions of memories. sealed contains everything that a client wrote, encrypted with the subject's data key
-- together with the memory's own key, which is in key_slot of erasable_key.
CREATE TABLE memory (
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    agent        BYTEA,
    session      BYTEA,
    kind         TEXT COLLATE "C" NOT NULL,
    at           BIGINT           NOT NULL,
    created_at   BIGINT           NOT NULL,
    updated_at   BIGINT           NOT NULL,
    expires_at   BIGINT,
    key_hash     BYTEA,             -- of the key by which a client replaces the memory
    same_hash    BYTEA            NOT NULL, -- equal for memories of the same content
    size         BIGINT           NOT NULL,
    revision     BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    key_slot     BIGINT           NOT NULL,
    sealed       BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- A hash of a subject, agent or session belongs to one workspace, so these indexes do not begin with the workspace.
CREATE INDEX memory_at ON memory (workspace_id, at, id);
CREATE INDEX memory_subject_at ON memory (subject, at, id);
CREATE INDEX memory_agent_at ON memory (agent, at, id) WHERE agent IS NOT NULL;
CREATE INDEX memory_session_at ON memory (session, at, id) WHERE session IS NOT NULL;
CREATE INDEX memory_key ON memory (subject, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX memory_same ON memory (subject, same_hash);
CREATE INDEX memory_change ON memory (subject, change);
CREATE INDEX memory_expires ON memory (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_subject_expires ON memory (subject, expires_at) WHERE expires_at IS NOT NULL;

-- Earlier revisions of memories. Their key is that of the memory.
CREATE TABLE memory_revision (
    workspace_id TEXT COLLATE "C" NOT NULL,
    memory_id    TEXT COLLATE "C" NOT NULL,
    revision     BIGINT           NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    sealed       BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, memory_id, revision)
);

-- Erased memories. Those of an erased person have no subject.
CREATE TABLE memory_tombstone (
    workspace_id TEXT COLLATE "C" NOT NULL,
    memory_id    TEXT COLLATE "C" NOT NULL,
    subject      BYTEA,
    change       BIGINT           NOT NULL,
    at           BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, memory_id)
);

CREATE INDEX memory_tombstone_change ON memory_tombstone (subject, change) WHERE subject IS NOT NULL;

-- How many memories a workspace has.
CREATE TABLE memory_count (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    memories     BIGINT           NOT NULL
);

-- Erasures of people that have begun and not ended.
CREATE TABLE memory_erasure (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    memories     BIGINT           NOT NULL,
    began_at     BIGINT           NOT NULL
);

-- The memories that a client was shown before it confirms that they are forgotten.
CREATE TABLE memory_plan (
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    generation   BIGINT           NOT NULL,
    memory_ids   TEXT COLLATE "C" NOT NULL,
    credential   TEXT COLLATE "C" NOT NULL,
    expires_at   BIGINT           NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE INDEX memory_plan_subject ON memory_plan (subject);
CREATE INDEX memory_plan_expires ON memory_plan (expires_at);

-- The vectors of memories, sealed like the memories themselves. change is the subject's change that wrote the row. sealed is
-- empty for a text that the endpoint refused.
CREATE TABLE memory_vector (
    workspace_id TEXT COLLATE "C" NOT NULL,
    memory_id    TEXT COLLATE "C" NOT NULL,
    subject      BYTEA            NOT NULL,
    revision     BIGINT           NOT NULL,
    change       BIGINT           NOT NULL,
    model        TEXT COLLATE "C" NOT NULL,
    sealed       BYTEA            NOT NULL,
    PRIMARY KEY (workspace_id, memory_id),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id) ON DELETE CASCADE
);

CREATE INDEX memory_vector_change ON memory_vector (subject, change);

-- How many texts were sent to the embeddings endpoint on a day since 1970.
CREATE TABLE embedding_day (
    day   BIGINT NOT NULL PRIMARY KEY,
    texts BIGINT NOT NULL
);

-- How many of them a workspace sent after half of the day's limit was used.
CREATE TABLE embedding_share (
    day          BIGINT           NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    texts        BIGINT           NOT NULL,
    PRIMARY KEY (day, workspace_id)
);

-- Keys of single memories and kept answers. What is sealed with one opens with nothing else, so that deleting the key and
-- rewriting this small table (VACUUM FULL) erases it.
CREATE TABLE erasable_key (
    slot BIGINT  NOT NULL PRIMARY KEY,
    key  BYTEA   NOT NULL,
    free BOOLEAN NOT NULL
);

CREATE INDEX erasable_key_free ON erasable_key (slot) WHERE free;

-- Transactions that erased something since the tables of keys were rewritten.
CREATE TABLE unscrubbed (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at BIGINT           NOT NULL
);

CREATE INDEX unscrubbed_at ON unscrubbed (at);

-- The audit log.

-- Who did what. Rows are only added; each contains the hash of the row before it in its chain.
CREATE TABLE audit_log (
    chain         TEXT COLLATE "C" NOT NULL,
    sequence      BIGINT           NOT NULL,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    at            BIGINT           NOT NULL,
    workspace_id  TEXT COLLATE "C" NOT NULL,
    actor         TEXT COLLATE "C" NOT NULL,
    action        TEXT COLLATE "C" NOT NULL,
    target        TEXT COLLATE "C" NOT NULL,
    outcome       TEXT COLLATE "C" NOT NULL,
    count         BIGINT           NOT NULL,
    details       TEXT COLLATE "C" NOT NULL,
    address       TEXT COLLATE "C" NOT NULL,
    request_id    TEXT COLLATE "C" NOT NULL,
    previous_hash BYTEA            NOT NULL,
    hash          BYTEA            NOT NULL,
    PRIMARY KEY (chain, sequence)
);

CREATE INDEX audit_log_workspace ON audit_log (workspace_id, id);
CREATE INDEX audit_log_target ON audit_log (target, id) WHERE target <> '';
CREATE INDEX audit_log_actor ON audit_log (actor, id) WHERE actor <> '';
-- Changes of memories are most of the rows, and no one lists them by their action.
CREATE INDEX audit_log_action ON audit_log (action, id) WHERE action NOT LIKE 'memory.%';

-- The last row of each chain.
CREATE TABLE audit_chain (
    name     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sequence BIGINT           NOT NULL,
    hash     BYTEA            NOT NULL
);

-- Names that rows of audit_read refer to by number: chains, workspaces and actors.
CREATE TABLE audit_name (
    number BIGINT           NOT NULL PRIMARY KEY,
    name   TEXT COLLATE "C" NOT NULL UNIQUE
);

-- Reads of memories, by far the most rows of the audit log, in a form that takes little space. place is the number of the
-- chain times 2^40 plus the sequence number of the row; body contains what no statement looks for.
CREATE TABLE audit_read (
    place     BIGINT NOT NULL PRIMARY KEY,
    at        BIGINT NOT NULL,
    workspace BIGINT NOT NULL,
    actor     BIGINT NOT NULL,
    target    BIGINT NOT NULL,
    body      BYTEA  NOT NULL,
    hash      BYTEA  NOT NULL
);

CREATE INDEX audit_read_at ON audit_read (at);
CREATE INDEX audit_read_workspace ON audit_read (workspace, at);
CREATE INDEX audit_read_actor ON audit_read (actor, at);
CREATE INDEX audit_read_target ON audit_read (target, at);

-- Versions of the API.

-- Versions that were released while the service ran, and version 1 once its end is announced.
CREATE TABLE api_version (
    number       BIGINT           NOT NULL PRIMARY KEY,
    since        BIGINT           NOT NULL,
    announced_at BIGINT,
    sunset_at    BIGINT,
    dated_at     BIGINT, -- when sunset_at was set
    retired_at   BIGINT,
    guide_url    TEXT COLLATE "C" NOT NULL,
    backdated    BOOLEAN          NOT NULL,
    revision     BIGINT           NOT NULL
);

-- API keys for which a version behaves as after its sunset.
CREATE TABLE sunset_rehearsal (
    version      BIGINT           NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    until        BIGINT           NOT NULL,
    PRIMARY KEY (version, key_id)
);

-- The traffic checks before a sunset, one for each version and date, with their inputs and thresholds.
CREATE TABLE version_check (
    version       BIGINT           NOT NULL,
    sunset_at     BIGINT           NOT NULL,
    checked_at    BIGINT           NOT NULL,
    verdict       TEXT COLLATE "C" NOT NULL,
    new_sunset_at BIGINT           NOT NULL,
    first_day     BIGINT           NOT NULL,
    days          BIGINT           NOT NULL,
    requests      BIGINT           NOT NULL,
    all_requests  BIGINT           NOT NULL,
    keys          BIGINT           NOT NULL,
    active_keys   BIGINT           NOT NULL,
    max_days      BIGINT           NOT NULL,
    percent       BIGINT           NOT NULL,
    min_keys      BIGINT           NOT NULL,
    keys_percent  BIGINT           NOT NULL,
    key_requests  BIGINT           NOT NULL,
    key_days      BIGINT           NOT NULL,
    PRIMARY KEY (version, sunset_at)
);

-- The changes of state that were recorded in the audit log and as events.
CREATE TABLE version_transition (
    version     BIGINT           NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    at          BIGINT           NOT NULL,
    recorded_at BIGINT           NOT NULL,
    PRIMARY KEY (version, state)
);

-- The notices before a sunset that were sent to remaining callers.
CREATE TABLE version_notice (
    version   BIGINT NOT NULL,
    sunset_at BIGINT NOT NULL,
    days      BIGINT NOT NULL,
    sent_at   BIGINT NOT NULL,
    PRIMARY KEY (version, sunset_at, days)
);

-- The latest days on which the service ran.
CREATE TABLE service_day (
    day BIGINT NOT NULL PRIMARY KEY
);

-- Events and webhooks.

-- What is sent about an event, once for all webhooks of a workspace. An event about the instance has a row for each workspace.
CREATE TABLE event (
    id           TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    payload      TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    PRIMARY KEY (id, workspace_id)
);

CREATE INDEX event_created ON event (created_at);

-- The names of events that are recorded once, such as a quota's threshold in a period.
CREATE TABLE event_once (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at   BIGINT           NOT NULL
);

CREATE INDEX event_once_at ON event_once (at);

-- The addresses to which a workspace's events are delivered. sealed contains the URL and the secrets; events is a JSON list.
CREATE TABLE webhook (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id    TEXT COLLATE "C" NOT NULL,
    events          TEXT COLLATE "C" NOT NULL,
    sealed          BYTEA            NOT NULL,
    description     TEXT COLLATE "C" NOT NULL,
    enabled_at      BIGINT           NOT NULL, -- when it was last enabled
    disabled_at     BIGINT,
    disabled_reason TEXT COLLATE "C" NOT NULL,
    failures        BIGINT           NOT NULL, -- since the last success
    failing_since   BIGINT,
    paused_until    BIGINT,          -- the end of the pause that the failures cause
    slow            BIGINT           NOT NULL, -- the last response was slow
    last_success_at BIGINT,
    created_at      BIGINT           NOT NULL,
    created_by      TEXT COLLATE "C" NOT NULL,
    updated_at      BIGINT           NOT NULL,
    revision        BIGINT           NOT NULL
);

CREATE INDEX webhook_workspace ON webhook (workspace_id, id);

-- The types of events, as bits, for which the transactions of a workspace look for webhooks. Processes hold this table in
-- memory, so a type is added before a webhook wants it: see internal/govern/event.
CREATE TABLE webhook_interest (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    types        BIGINT           NOT NULL,
    widened_at   BIGINT           NOT NULL
);

-- Events for each webhook that receives them, and their attempts as JSON. due_at is the time of the next attempt, or, while a
-- process has claimed the row, the time at which its claim ends. A delivery is pending since its creation, or since it was last
-- sent again by hand.
CREATE TABLE webhook_delivery (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    webhook_id    TEXT COLLATE "C" NOT NULL,
    workspace_id  TEXT COLLATE "C" NOT NULL,
    event_id      TEXT COLLATE "C" NOT NULL,
    type          TEXT COLLATE "C" NOT NULL,
    state         TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT           NOT NULL,
    pending_since BIGINT           NOT NULL,
    due_at        BIGINT,
    claim         TEXT COLLATE "C" NOT NULL,
    tries         BIGINT           NOT NULL,
    tries_since   BIGINT,
    finished_at   BIGINT,
    attempts      TEXT COLLATE "C" NOT NULL
);

CREATE INDEX webhook_delivery_webhook ON webhook_delivery (webhook_id, id);
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id, workspace_id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_created ON webhook_delivery (created_at);

-- The processes of an instance. All times are of the database's clock.

-- The last numbers: of news, and of the joins of members. Without a row it is 0.
CREATE TABLE cluster_head (
    name   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT           NOT NULL
) WITH (fillfactor = 50);

-- What processes change, for the others.
CREATE TABLE news (
    number  BIGINT           NOT NULL PRIMARY KEY,
    kind    TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT
);

-- The processes that have the database open. Each writes its row once a second, so a page has room for new versions. heard is the number of the last news that a member has read, while another one
-- waits for that.
CREATE TABLE member (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name         TEXT COLLATE "C" NOT NULL,
    host         TEXT COLLATE "C" NOT NULL,
    release      TEXT COLLATE "C" NOT NULL,
    split        BOOLEAN          NOT NULL,
    started_at   BIGINT           NOT NULL,
    seen_at      BIGINT           NOT NULL,
    left_at      BIGINT,
    joined_epoch BIGINT           NOT NULL,
    seen_epoch   BIGINT           NOT NULL,
    heard        BIGINT           NOT NULL
) WITH (fillfactor = 50);

-- Storage.

-- How many bytes the rows of a workspace take. Triggers count, so that the number is right whichever program writes the rows.
CREATE TABLE storage (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bytes        BIGINT           NOT NULL
);

-- One trigger for each table and kind of statement adds up what the statement changed. Of documents it adds up what their rows
-- stand for: 'default', '[]' and '{}' count.
DO $do$
DECLARE
    counted   RECORD;
    op        TEXT;
    key       TEXT := 'workspace_id';
    workspace TEXT := 'c.workspace_id';
    changes   TEXT := 'c WHERE c.workspace_id <> ''''';
    added     TEXT;
    removed   TEXT;
    changed   TEXT;
    named     TEXT;
BEGIN
    FOR counted IN SELECT * FROM (VALUES
        ('memory', 'octet_length(r.sealed)'),
        ('memory_revision', 'octet_length(r.sealed)'),
        ('memory_plan', 'octet_length(r.memory_ids)'),
        ('kept_answer', 'octet_length(r.body) + octet_length(r.sealed) + octet_length(r.sealed_by)'),
        ('event', 'octet_length(r.payload)'),
        ('webhook_delivery', 'octet_length(r.id) + octet_length(r.webhook_id) + octet_length(r.event_id) + octet_length(r.type) + octet_length(r.attempts)'),
        ('document', 'octet_length(r.id) + octet_length(r.collection) + octet_length(r.title)
            + octet_length(r.text) + octet_length(r.url) + octet_length(r.tags) + octet_length(r.metadata)
            + octet_length(r.language)'),
        ('collection', 'octet_length(r.settings)')
    ) AS tables (name, size) LOOP
        IF counted.name IN ('document', 'collection') THEN
            key := 'workspace';
            workspace := 'h.workspace_id';
            changes := 'c LEFT JOIN document_head h ON h.number = c.workspace';
        END IF;
        added := format('SELECT r.%I, (%s)::bigint AS bytes FROM new_rows r', key, counted.size);
        removed := format('SELECT r.%I, -(%s)::bigint AS bytes FROM old_rows r', key, counted.size);
        FOREACH op IN ARRAY ARRAY['insert', 'update', 'delete'] LOOP
            CASE op
                WHEN 'insert' THEN changed := added; named := 'NEW TABLE AS new_rows';
                WHEN 'delete' THEN changed := removed; named := 'OLD TABLE AS old_rows';
                ELSE changed := added || ' UNION ALL ' || removed; named := 'NEW TABLE AS new_rows OLD TABLE AS old_rows';
            END CASE;
            EXECUTE format($create$
                CREATE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
                BEGIN
                    INSERT INTO storage AS s (workspace_id, bytes)
                    SELECT %2$s, sum(c.bytes) FROM (%3$s) %4$s
                    GROUP BY %2$s HAVING sum(c.bytes) <> 0 ORDER BY %2$s
                    ON CONFLICT (workspace_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
                    RETURN NULL;
                END
                $body$
            $create$, counted.name || '_storage_' || op, workspace, changed, changes);
            EXECUTE format('CREATE TRIGGER %1$I AFTER %2$s ON %3$I REFERENCING %4$s FOR EACH STATEMENT EXECUTE FUNCTION %1$I()',
                counted.name || '_storage_' || op, op, counted.name, named);
        END LOOP;
    END LOOP;
END
$do$;
