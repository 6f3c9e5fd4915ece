-- The ID of the instance that this database belongs to, in one row. keys.db and usage.db contain the same ID.
CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY
) STRICT;

-- Written to find out whether the disk takes writes again.
CREATE TABLE probe (
    id     INTEGER NOT NULL PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;

-- How far a move into this database is. While there are rows, the database is incomplete and must not be served.
CREATE TABLE move_progress (
    part   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    source TEXT    NOT NULL,
    after  TEXT    NOT NULL,
    copied INTEGER NOT NULL,
    done   INTEGER NOT NULL,
    PRIMARY KEY (part, name)
) STRICT;

-- Workspaces, their users and their limits.

CREATE TABLE workspace (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    tier       TEXT    NOT NULL,
    operator   INTEGER NOT NULL,
    suspended  INTEGER NOT NULL,
    embeddings INTEGER NOT NULL, -- texts of the workspace are sent to the embeddings endpoint
    -- The engines of its search index: the one that it is to have, and the one that searches read. They differ during a move.
    search_engine  TEXT NOT NULL,
    search_serving TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX workspace_operator ON workspace (operator) WHERE operator = 1;

CREATE TABLE account_user (
    id            TEXT    NOT NULL PRIMARY KEY,
    workspace_id  TEXT    NOT NULL REFERENCES workspace (id),
    email         TEXT    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    role          TEXT    NOT NULL,
    password_hash TEXT    NOT NULL,
    disabled      INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER,
    revision      INTEGER NOT NULL
) STRICT;

CREATE INDEX account_user_workspace ON account_user (workspace_id, id);

-- Tiers that were changed while the service ran. They replace the configured ones. A count of -1 means no limit.
CREATE TABLE tier (
    name                TEXT    NOT NULL PRIMARY KEY,
    requests_per_minute INTEGER NOT NULL,
    daily               INTEGER NOT NULL,
    monthly             INTEGER NOT NULL,
    keys                INTEGER NOT NULL,
    users               INTEGER NOT NULL,
    documents           INTEGER NOT NULL,
    memories            INTEGER NOT NULL,
    storage             INTEGER NOT NULL, -- in bytes
    revision            INTEGER NOT NULL
) STRICT;

-- API keys, sessions and attempts to log in.

-- subject_id and agent_id are sealed, because they can be names of people.
CREATE TABLE api_key (
    id                  TEXT    NOT NULL PRIMARY KEY,
    workspace_id        TEXT    NOT NULL REFERENCES workspace (id),
    name                TEXT    NOT NULL,
    scopes              TEXT    NOT NULL,
    expires_at          INTEGER,
    requests_per_minute INTEGER,
    daily               INTEGER,
    monthly             INTEGER,
    subject_id          TEXT    NOT NULL,
    agent_id            TEXT    NOT NULL,
    allowed_ips         TEXT    NOT NULL,
    metadata            TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    created_by          TEXT    NOT NULL,
    updated_at          INTEGER NOT NULL,
    disabled_at         INTEGER,
    revoked_at          INTEGER,
    revoke_reason       TEXT    NOT NULL,
    revision            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_newest ON api_key (workspace_id, created_at DESC, id DESC);

-- Keyed hashes of the secrets of API keys. A key has two while it is rotated.
CREATE TABLE api_key_secret (
    key_id      TEXT    NOT NULL REFERENCES api_key (id),
    hash        BLOB    NOT NULL UNIQUE,
    hint        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    valid_until INTEGER,
    PRIMARY KEY (key_id, hash)
) STRICT, WITHOUT ROWID;

-- Logins. The sessions of a deleted user stay, ended.
CREATE TABLE session (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX session_user ON session (user_id) WHERE ended_at IS NULL;
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_ended ON session (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE refresh_token (
    hash       BLOB    NOT NULL PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES session (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX refresh_token_session ON refresh_token (session_id);
CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);

-- Wrong passwords and keys. name is a keyed hash, and state is not for SQL.
CREATE TABLE login_guess (
    name  BLOB    NOT NULL PRIMARY KEY,
    state BLOB    NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_guess_until ON login_guess (until);

-- Responses to requests with an Idempotency-Key.

-- A response that is about subjects is in sealed, encrypted with the key in key_slot of erasable_key; other responses are in body.
CREATE TABLE kept_answer (
    claim        BLOB    NOT NULL PRIMARY KEY,
    request      BLOB    NOT NULL,
    workspace_id TEXT    NOT NULL, -- empty for a response that no workspace's storage counts
    status       INTEGER NOT NULL,
    location     TEXT    NOT NULL,
    etag         TEXT    NOT NULL,
    has_body     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    key_slot     INTEGER,
    sealed_by    TEXT    NOT NULL,
    sealed       BLOB    NOT NULL,
    body         BLOB    NOT NULL
) STRICT;

CREATE INDEX kept_answer_expiry ON kept_answer (expires_at);

-- The subjects that a response is about. It is removed when one of their memories is erased.
CREATE TABLE kept_answer_subject (
    workspace_id TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    claim        BLOB    NOT NULL,
    expires_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, subject, claim)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_answer_subject_expiry ON kept_answer_subject (expires_at);

-- Documents. Their tables and indexes contain the number of a workspace, because its ID would be 30 bytes of each row five times.

-- The number of a workspace, the number and the mark of its last change, and how many documents it has.
CREATE TABLE document_head (
    number       INTEGER NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL UNIQUE,
    change       INTEGER NOT NULL,
    documents    INTEGER NOT NULL,
    mark         INTEGER NOT NULL -- a random number of each transaction that changes documents; 0 before the first
) STRICT;

-- The marks of the last transactions of each workspace, with the numbers of their last changes. If the transaction that made a change
-- has another mark than it had for an index, the database has lost changes that the index can contain, as after a restore.
-- workspace is document_head.number.
CREATE TABLE document_mark (
    workspace INTEGER NOT NULL,
    change    INTEGER NOT NULL,
    mark      INTEGER NOT NULL,
    PRIMARY KEY (workspace, change)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER document_marked AFTER UPDATE ON document_head WHEN NEW.change > OLD.change BEGIN
    INSERT INTO document_mark (workspace, change, mark) VALUES (NEW.number, NEW.change, NEW.mark);
END;
-- An index that lacks more changes than there are documents is built in about the time in which it would read them. So no more marks than
-- that are needed.
CREATE TRIGGER document_marks_pruned AFTER UPDATE ON document_head WHEN NEW.change / 1000 > OLD.change / 1000 BEGIN
    DELETE FROM document_mark WHERE workspace = NEW.number AND change < NEW.change - 10000 - NEW.documents;
END;

-- workspace is document_head.number. Times are in milliseconds.
-- The longest text is last, so that the other columns are read without it.
CREATE TABLE document (
    workspace  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    collection TEXT    NOT NULL,
    language   TEXT    NOT NULL, -- empty: none was given
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    change     INTEGER NOT NULL,
    tags       TEXT    NOT NULL,
    metadata   TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT;

CREATE UNIQUE INDEX document_change ON document (workspace, change);
CREATE INDEX document_collection ON document (workspace, collection, id);
-- Without the ID, which would be most of it. The documents of one time, at most those of one transaction, are sorted.
CREATE INDEX document_updated ON document (workspace, updated_at);

CREATE TABLE document_tag (
    workspace   INTEGER NOT NULL,
    tag         TEXT    NOT NULL,
    document_id TEXT    NOT NULL,
    PRIMARY KEY (workspace, tag, document_id)
) STRICT, WITHOUT ROWID;

-- Deleted documents, for search indexes that have not read the change yet.
CREATE TABLE document_tombstone (
    workspace INTEGER NOT NULL,
    id        TEXT    NOT NULL,
    change    INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX document_tombstone_change ON document_tombstone (workspace, change);

-- The collections of documents, and their settings as JSON. A collection without documents and settings has a row only if it had
-- settings, for search indexes that have not read the change yet. workspace is document_head.number; updated_at is in milliseconds.
CREATE TABLE collection (
    workspace  INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    documents  INTEGER NOT NULL, -- how many it has
    revision   INTEGER NOT NULL, -- of the settings
    change     INTEGER NOT NULL, -- the change that wrote or removed the settings; 0 for none
    updated_at INTEGER,          -- NULL without settings
    synonyms   INTEGER NOT NULL, -- rows
    settings   TEXT    NOT NULL, -- empty for none
    PRIMARY KEY (workspace, name)
) STRICT;

CREATE UNIQUE INDEX collection_change ON collection (workspace, change) WHERE change > 0;

-- Memories. Hashes are keyed: without the instance's secrets they reveal nothing. key_hash and same_hash are keyed by the
-- subject's data key, and reveal nothing once it is destroyed.

-- People. After an erasure the row stays, without a name, so that the number of a generation is never used again.
CREATE TABLE memory_subject (
    workspace_id TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    sealed_id    BLOB,
    memories     INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    erased_at    INTEGER,
    embedded     INTEGER, -- the change up to which the memories have vectors; NULL for none
    embedded_by  TEXT,    -- the model of the vectors
    PRIMARY KEY (workspace_id, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_subject_created ON memory_subject (workspace_id, created_at, subject) WHERE sealed_id IS NOT NULL;

-- The current revisions of memories. sealed contains everything that a client wrote, encrypted with the subject's data key
-- together with the memory's own key, which is in key_slot of erasable_key.
CREATE TABLE memory (
    workspace_id TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    agent        BLOB,
    session      BLOB,
    kind         TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    key_hash     BLOB,             -- of the key by which a client replaces the memory
    same_hash    BLOB    NOT NULL, -- equal for memories of the same content
    size         INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    key_slot     INTEGER NOT NULL,
    sealed       BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;

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
    workspace_id TEXT    NOT NULL,
    memory_id    TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    sealed       BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, memory_id, revision)
) STRICT;

-- Erased memories. Those of an erased person have no subject.
CREATE TABLE memory_tombstone (
    workspace_id TEXT    NOT NULL,
    memory_id    TEXT    NOT NULL,
    subject      BLOB,
    change       INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, memory_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_tombstone_change ON memory_tombstone (subject, change) WHERE subject IS NOT NULL;

-- How many memories a workspace has.
CREATE TABLE memory_count (
    workspace_id TEXT    NOT NULL PRIMARY KEY,
    memories     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Erasures of people that have begun and not ended.
CREATE TABLE memory_erasure (
    id           TEXT    NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    memories     INTEGER NOT NULL,
    began_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The memories that a client was shown before it confirms that they are forgotten.
CREATE TABLE memory_plan (
    workspace_id TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    generation   INTEGER NOT NULL,
    memory_ids   TEXT    NOT NULL,
    credential   TEXT    NOT NULL,
    expires_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;

CREATE INDEX memory_plan_subject ON memory_plan (subject);
CREATE INDEX memory_plan_expires ON memory_plan (expires_at);

-- The vectors of memories, sealed like the memories themselves. change is the subject's change that wrote the row. sealed is
-- empty for a text that the endpoint refused.
CREATE TABLE memory_vector (
    workspace_id TEXT    NOT NULL,
    memory_id    TEXT    NOT NULL,
    subject      BLOB    NOT NULL,
    revision     INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    model        TEXT    NOT NULL,
    sealed       BLOB    NOT NULL,
    PRIMARY KEY (workspace_id, memory_id),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX memory_vector_change ON memory_vector (subject, change);

-- How many texts were sent to the embeddings endpoint on a day since 1970.
CREATE TABLE embedding_day (
    day   INTEGER NOT NULL PRIMARY KEY,
    texts INTEGER NOT NULL
) STRICT;

-- How many of them a workspace sent after half of the day's limit was used.
CREATE TABLE embedding_share (
    day          INTEGER NOT NULL,
    workspace_id TEXT    NOT NULL,
    texts        INTEGER NOT NULL,
    PRIMARY KEY (day, workspace_id)
) STRICT;

-- Keys of single memories and kept answers. What is sealed with one opens with nothing else, so that overwriting the key
-- erases it. Rows are only added behind all others, overwritten in place and used again, and never deleted: SQLite then has
-- no reason to copy one to another page, where a copy would stay behind.
CREATE TABLE erasable_key (
    slot INTEGER NOT NULL PRIMARY KEY,
    key  BLOB    NOT NULL,
    free INTEGER NOT NULL
) STRICT;

CREATE INDEX erasable_key_free ON erasable_key (slot) WHERE free = 1;

-- Transactions that erased something since the database's files were cleared of what was erased.
CREATE TABLE unscrubbed (
    id TEXT    NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX unscrubbed_at ON unscrubbed (at);

-- The audit log.

-- Who did what. Rows are only added; each contains the hash of the row before it in its chain.
CREATE TABLE audit_log (
    chain         TEXT    NOT NULL,
    sequence      INTEGER NOT NULL,
    id            TEXT    NOT NULL UNIQUE,
    at            INTEGER NOT NULL,
    workspace_id  TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    action        TEXT    NOT NULL,
    target        TEXT    NOT NULL,
    outcome       TEXT    NOT NULL,
    count         INTEGER NOT NULL,
    details       TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    request_id    TEXT    NOT NULL,
    previous_hash BLOB    NOT NULL,
    hash          BLOB    NOT NULL,
    PRIMARY KEY (chain, sequence)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_log_workspace ON audit_log (workspace_id, id);
CREATE INDEX audit_log_target ON audit_log (target, id) WHERE target <> '';
CREATE INDEX audit_log_actor ON audit_log (actor, id) WHERE actor <> '';
-- Changes of memories are most of the rows, and no one lists them by their action.
CREATE INDEX audit_log_action ON audit_log (action, id) WHERE action NOT LIKE 'memory.%';

-- The last row of each chain.
CREATE TABLE audit_chain (
    name     TEXT    NOT NULL PRIMARY KEY,
    sequence INTEGER NOT NULL,
    hash     BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Names that rows of audit_read refer to by number: chains, workspaces and actors.
CREATE TABLE audit_name (
    number INTEGER NOT NULL PRIMARY KEY,
    name   TEXT    NOT NULL UNIQUE
) STRICT;

-- Reads of memories, by far the most rows of the audit log, in a form that takes little space. place is the number of the
-- chain times 2^40 plus the sequence number of the row; body contains what no statement looks for.
CREATE TABLE audit_read (
    place     INTEGER NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    workspace INTEGER NOT NULL,
    actor     INTEGER NOT NULL,
    target    INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    hash      BLOB    NOT NULL
) STRICT;

CREATE INDEX audit_read_at ON audit_read (at);
CREATE INDEX audit_read_workspace ON audit_read (workspace, at);
CREATE INDEX audit_read_actor ON audit_read (actor, at);
CREATE INDEX audit_read_target ON audit_read (target, at);

-- Versions of the API.

-- Versions that were released while the service ran, and version 1 once its end is announced.
CREATE TABLE api_version (
    number       INTEGER NOT NULL PRIMARY KEY,
    since        INTEGER NOT NULL,
    announced_at INTEGER,
    sunset_at    INTEGER,
    dated_at     INTEGER, -- when sunset_at was set
    retired_at   INTEGER,
    guide_url    TEXT    NOT NULL,
    backdated    INTEGER NOT NULL,
    revision     INTEGER NOT NULL
) STRICT;

-- API keys for which a version behaves as after its sunset.
CREATE TABLE sunset_rehearsal (
    version      INTEGER NOT NULL,
    key_id       TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    until        INTEGER NOT NULL,
    PRIMARY KEY (version, key_id)
) STRICT, WITHOUT ROWID;

-- The traffic checks before a sunset, one for each version and date, with their inputs and thresholds.
CREATE TABLE version_check (
    version        INTEGER NOT NULL,
    sunset_at      INTEGER NOT NULL,
    checked_at     INTEGER NOT NULL,
    verdict        TEXT    NOT NULL,
    new_sunset_at  INTEGER NOT NULL,
    first_day      INTEGER NOT NULL,
    days           INTEGER NOT NULL,
    requests       INTEGER NOT NULL,
    all_requests   INTEGER NOT NULL,
    keys           INTEGER NOT NULL,
    active_keys    INTEGER NOT NULL,
    max_days       INTEGER NOT NULL,
    percent        INTEGER NOT NULL,
    min_keys       INTEGER NOT NULL,
    keys_percent   INTEGER NOT NULL,
    key_requests   INTEGER NOT NULL,
    key_days       INTEGER NOT NULL,
    PRIMARY KEY (version, sunset_at)
) STRICT, WITHOUT ROWID;

-- The changes of state that were recorded in the audit log and as events.
CREATE TABLE version_transition (
    version     INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (version, state)
) STRICT, WITHOUT ROWID;

-- The notices before a sunset that were sent to remaining callers.
CREATE TABLE version_notice (
    version   INTEGER NOT NULL,
    sunset_at INTEGER NOT NULL,
    days      INTEGER NOT NULL,
    sent_at   INTEGER NOT NULL,
    PRIMARY KEY (version, sunset_at, days)
) STRICT, WITHOUT ROWID;

-- The latest days on which the service ran.
CREATE TABLE service_day (
    day INTEGER NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Events and webhooks.

-- What is sent about an event, once for all webhooks of a workspace. An event about the instance has a row for each workspace.
CREATE TABLE event (
    id           TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (id, workspace_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_created ON event (created_at);

-- The names of events that are recorded once, such as a quota's threshold in a period.
CREATE TABLE event_once (
    name TEXT    NOT NULL PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX event_once_at ON event_once (at);

-- The addresses to which a workspace's events are delivered. sealed contains the URL and the secrets; events is a JSON list.
CREATE TABLE webhook (
    id              TEXT    NOT NULL PRIMARY KEY,
    workspace_id    TEXT    NOT NULL,
    events          TEXT    NOT NULL,
    sealed          BLOB    NOT NULL,
    description     TEXT    NOT NULL,
    enabled_at      INTEGER NOT NULL, -- when it was last enabled
    disabled_at     INTEGER,
    disabled_reason TEXT    NOT NULL,
    failures        INTEGER NOT NULL, -- since the last success
    failing_since   INTEGER,
    paused_until    INTEGER,          -- the end of the pause that the failures cause
    slow            INTEGER NOT NULL, -- the last response was slow
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

-- Events for each webhook that receives them, and their attempts as JSON. due_at is the time of the next attempt, or, while a
-- process has claimed the row, the time at which its claim ends. A delivery is pending since its creation, or since it was last
-- sent again by hand.
CREATE TABLE webhook_delivery (
    id            TEXT    NOT NULL PRIMARY KEY,
    webhook_id    TEXT    NOT NULL,
    workspace_id  TEXT    NOT NULL,
    event_id      TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    pending_since INTEGER NOT NULL,
    due_at        INTEGER,
    claim         TEXT    NOT NULL,
    tries         INTEGER NOT NULL,
    tries_since   INTEGER,
    finished_at   INTEGER,
    attempts      TEXT    NOT NULL
) STRICT;

CREATE INDEX webhook_delivery_webhook ON webhook_delivery (webhook_id, id);
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id, workspace_id);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_created ON webhook_delivery (created_at);

-- The processes of an instance. Only an engine that processes share writes these tables, with the database's clock.

-- The last numbers: of news, and of the joins of members. Without a row it is 0.
CREATE TABLE cluster_head (
    name   TEXT    NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;

-- What processes change, for the others.
CREATE TABLE news (
    number  INTEGER NOT NULL PRIMARY KEY,
    kind    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    at      INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
) STRICT;

-- The processes that have the database open. heard is the number of the last news that a member has read, while another one
-- waits for that.
CREATE TABLE member (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    host         TEXT    NOT NULL,
    release      TEXT    NOT NULL,
    split        INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL,
    left_at      INTEGER,
    joined_epoch INTEGER NOT NULL,
    seen_epoch   INTEGER NOT NULL,
    heard        INTEGER NOT NULL
) STRICT;

-- Storage.

-- How many bytes the rows of a workspace take. Triggers count, so that the number is right whichever program writes the rows.
CREATE TABLE storage (
    workspace_id TEXT    NOT NULL PRIMARY KEY,
    bytes        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The bytes of what a row stands for: 'default', '[]' and '{}' count.
CREATE TRIGGER document_storage_insert AFTER INSERT ON document BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES ((SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace),
        octet_length(NEW.id) + octet_length(NEW.collection) + octet_length(NEW.title)
        + octet_length(NEW.text) + octet_length(NEW.url) + octet_length(NEW.tags) + octet_length(NEW.metadata) + octet_length(NEW.language))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER document_storage_update AFTER UPDATE ON document BEGIN
    UPDATE storage SET bytes = bytes
        + octet_length(NEW.id) + octet_length(NEW.collection) + octet_length(NEW.title)
        + octet_length(NEW.text) + octet_length(NEW.url) + octet_length(NEW.tags) + octet_length(NEW.metadata) + octet_length(NEW.language)
        - octet_length(OLD.id) - octet_length(OLD.collection) - octet_length(OLD.title)
        - octet_length(OLD.text) - octet_length(OLD.url) - octet_length(OLD.tags) - octet_length(OLD.metadata) - octet_length(OLD.language)
    WHERE workspace_id = (SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace);
END;
CREATE TRIGGER document_storage_delete AFTER DELETE ON document BEGIN
    UPDATE storage SET bytes = bytes
        - octet_length(OLD.id) - octet_length(OLD.collection) - octet_length(OLD.title)
        - octet_length(OLD.text) - octet_length(OLD.url) - octet_length(OLD.tags) - octet_length(OLD.metadata) - octet_length(OLD.language)
    WHERE workspace_id = (SELECT h.workspace_id FROM document_head h WHERE h.number = OLD.workspace);
END;
CREATE TRIGGER collection_storage_insert AFTER INSERT ON collection WHEN NEW.settings <> '' BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES ((SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace), octet_length(NEW.settings))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER collection_storage_update AFTER UPDATE OF settings ON collection BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES ((SELECT h.workspace_id FROM document_head h WHERE h.number = NEW.workspace), octet_length(NEW.settings) - octet_length(OLD.settings))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER collection_storage_delete AFTER DELETE ON collection WHEN OLD.settings <> '' BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.settings)
    WHERE workspace_id = (SELECT h.workspace_id FROM document_head h WHERE h.number = OLD.workspace);
END;

CREATE TRIGGER memory_storage_insert AFTER INSERT ON memory BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.sealed))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER memory_storage_update AFTER UPDATE OF sealed ON memory BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.sealed) - octet_length(OLD.sealed) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER memory_storage_delete AFTER DELETE ON memory BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.sealed) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER memory_revision_storage_insert AFTER INSERT ON memory_revision BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.sealed))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER memory_revision_storage_update AFTER UPDATE OF sealed ON memory_revision BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.sealed) - octet_length(OLD.sealed) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER memory_revision_storage_delete AFTER DELETE ON memory_revision BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.sealed) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER memory_plan_storage_insert AFTER INSERT ON memory_plan BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.memory_ids))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER memory_plan_storage_delete AFTER DELETE ON memory_plan BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.memory_ids) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER kept_answer_storage_insert AFTER INSERT ON kept_answer WHEN NEW.workspace_id <> '' BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES (NEW.workspace_id, octet_length(NEW.body) + octet_length(NEW.sealed) + octet_length(NEW.sealed_by))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER kept_answer_storage_update AFTER UPDATE ON kept_answer BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.body) - octet_length(OLD.sealed) - octet_length(OLD.sealed_by)
    WHERE workspace_id = OLD.workspace_id;
    INSERT INTO storage (workspace_id, bytes)
    SELECT NEW.workspace_id, octet_length(NEW.body) + octet_length(NEW.sealed) + octet_length(NEW.sealed_by) WHERE NEW.workspace_id <> ''
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER kept_answer_storage_delete AFTER DELETE ON kept_answer BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.body) - octet_length(OLD.sealed) - octet_length(OLD.sealed_by)
    WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER event_storage_insert AFTER INSERT ON event BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, octet_length(NEW.payload))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER event_storage_update AFTER UPDATE OF payload ON event BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.payload) - octet_length(OLD.payload) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER event_storage_delete AFTER DELETE ON event BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.payload) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER webhook_delivery_storage_insert AFTER INSERT ON webhook_delivery BEGIN
    INSERT INTO storage (workspace_id, bytes)
    VALUES (NEW.workspace_id, octet_length(NEW.id) + octet_length(NEW.webhook_id) + octet_length(NEW.event_id)
        + octet_length(NEW.type) + octet_length(NEW.attempts))
    ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes;
END;
CREATE TRIGGER webhook_delivery_storage_update AFTER UPDATE OF attempts ON webhook_delivery BEGIN
    UPDATE storage SET bytes = bytes + octet_length(NEW.attempts) - octet_length(OLD.attempts) WHERE workspace_id = NEW.workspace_id;
END;
CREATE TRIGGER webhook_delivery_storage_delete AFTER DELETE ON webhook_delivery BEGIN
    UPDATE storage SET bytes = bytes - octet_length(OLD.id) - octet_length(OLD.webhook_id) - octet_length(OLD.event_id)
        - octet_length(OLD.type) - octet_length(OLD.attempts)
    WHERE workspace_id = OLD.workspace_id;
END;
