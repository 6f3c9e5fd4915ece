# Written by clients/python/tools/generate.py from openapi/v1.json. Run `make clients` instead of changing it.
# SHA-256 of openapi/v1.json: bd9c19d2f3aa721c2d8c44ec8e1b01a82cf271d023c539d2a26508ef5c529447

"""The types of requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from keepsake._model import Answer, Input


class APIKey(Answer):  # ApiKeyView
    agent_id: str | None
    """The ID of the agent that the key is bound to. It is None if the key is not bound to one."""
    allowed_ips: list[str]
    """The networks that the key can be used from, in CIDR notation. An empty list means any address."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the user or key that created the key, or local."""
    expires_at: datetime | None
    """The time at which the key expires. It is None if the key does not expire."""
    hint: str
    """The first characters of the key, which help people to tell keys apart."""
    id: str
    """The ID of the key, which begins with key_. A rotation keeps it."""
    last_used_at: datetime | None
    """The time of the last request with any secret of the key. It is None if there was none."""
    metadata: dict[str, int | str | float | bool]
    """The metadata that was stored with the key: strings, numbers or booleans by name."""
    name: str
    """The display name of the key."""
    quota: Quota | None
    """The key's own quotas. It is None if only the workspace's quotas apply."""
    rate_limit: RateLimit
    """The limit of the key per minute, which applies in addition to the workspace's."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    revoke_reason: str | None
    """The reason that was given for the revocation. It is None if there was none."""
    revoked_at: datetime | None
    """The time at which the key was revoked. It is None if the key is not revoked."""
    scopes: list[str]
    """The scopes of the key, which say what requests with it can do."""
    secrets: list[Secret]
    """The secrets of the key, newest first. A key that is being rotated has two."""
    state: str
    """The state of the key. While it is rotating, two secrets work. Only active and rotating keys are accepted."""
    subject_id: str | None
    """The ID of the subject that the key is bound to. It is None if the key is not bound to one."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""


class APIKeyLimits(Answer):  # LimitsView
    at: datetime
    """The time at which the counters were read."""
    key_id: str
    """The ID of the API key."""
    quota: Budgets | None
    """The key's own quotas. It is None if only the workspace's quotas apply."""
    rate_limit: OwnRate
    """The limit of the key per minute, and what is left of it."""
    state: str
    """The state of the key. Only active and rotating keys are accepted."""
    workspace: WorkspaceLimits
    """The limits that all keys and users of the workspace share."""


class APIKeyPage(Answer):  # ListAPIKeysAnswer
    items: list[APIKey]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class APIKeyUsage(Answer):  # UsageView
    from_: datetime
    """The start of the period, which is the start of its first interval."""
    interval: str
    """The length of an interval."""
    key_id: str
    """The ID of the API key."""
    points: list[UsagePoint]
    """One point for each interval, oldest first. The last interval is still open."""
    to: datetime
    """The end of the period, which is the time of the response."""


class AccessEntry(Answer):  # AccessView
    action: str
    """The action, such as memory.read, memory.recalled or memory.created."""
    actor: str | None
    """The ID of the key or user that acted, or local. It is None if the actor is unknown."""
    address: str | None
    """The IP address of the client. It is None if there is none."""
    at: datetime
    """The time of the access."""
    count: int
    """The number of memories that were read or changed, even if memoryIds does not list all of them."""
    id: str
    """The ID of the entry, which begins with aud_."""
    memory_ids: list[str]
    """The IDs of the memories that were read or changed."""
    outcome: str
    """Whether the action was done, was refused, or failed."""
    request_id: str | None
    """The ID of the request, as in X-Request-Id. It is None if the action has no request."""


class AccessPage(Answer):  # ListSubjectAccessesAnswer
    items: list[AccessEntry]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class AuditBreak(Answer):  # AuditBreakView
    chain: str
    """The name of the chain of entries."""
    id: str | None
    """The ID of the entry. It is None if the entry is missing."""
    message: str
    """The damage in words for people."""
    reason: str
    """The kind of damage. Entries were changed or removed, or a checkpoint or record does not match them."""
    sequence: int
    """The number of the entry in its chain, starting at 1."""


class AuditChain(Answer):  # AuditHeadView
    chain: str
    """The name of the chain of entries."""
    hash: str
    """The hash of the last entry. Store a copy of it elsewhere."""
    rows: int
    """The number of the last verified entry in the chain, which counts from 1."""


class AuditEntry(Answer):  # AuditEntryView
    action: str
    """The action: what it was about, and what was done."""
    actor: str | None
    """The ID of the key or user that acted, or local. It is None if the actor is unknown."""
    address: str | None
    """The IP address of the client. It is None if there is none."""
    at: datetime
    """The time of the action."""
    count: int
    """The number of times the action happened since at, or the number of memories it concerns."""
    details: dict[str, int | str | float | bool]
    """The values that were set. The value changed stands for a value that the log does not contain. A limit that was changed is also there as it was before, such as quota.daily.before; none means no limit of its own."""
    id: str
    """The ID of the entry, which begins with aud_."""
    link: AuditLink | None
    """The entry's place in the log. It is None unless the caller is an admin of the operator workspace."""
    outcome: str
    """Whether the action was done, was refused, or failed."""
    request_id: str | None
    """The ID of the request, as in X-Request-Id. It is None if the action has no request."""
    target: str | None
    """The ID of the target of the action. For a person it is a keyed hash. It is None if the action has no target."""
    workspace_id: str | None
    """The ID of the workspace. It is None for entries about the instance."""


class AuditLink(Answer):  # AuditChainView
    chain: str
    """The name of the chain of entries. Each process of the instance writes one."""
    hash: str
    """The keyed hash of the entry and of the hash before it."""
    previous: str
    """The hash of the previous entry."""
    sequence: int
    """The number of the entry in its chain, starting at 1."""


class AuditLogPage(Answer):  # ListAuditLogAnswer
    items: list[AuditEntry]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class AuditVerified(Answer):  # VerifyAuditLogAnswer
    break_: AuditBreak | None
    """The first of breaks. It is None if there is none."""
    breaks: list[AuditBreak]
    """The first bad or missing entry of each chain that has one."""
    chains: list[AuditChain]
    """The chains of the log, each up to its last verified entry."""
    checkpoints: int
    """The number of checkpoints that were compared."""
    newest_checkpoint_at: datetime | None
    """The time of the newest checkpoint. Entries after it are not covered by one. It is None if there is no checkpoint."""
    ok: bool
    """Whether the log is intact. It is True if breaks is empty."""
    rows: int
    """The number of entries that were verified."""


class BatchError(Answer):  # ItemError
    details: BatchErrorDetails | None = None
    """What exactly is wrong with the item. Each member is there only if it says something."""
    error: str
    """The machine-readable code of the error."""
    message: str
    """The message for people. Its wording can change."""


class BatchErrorDetails(Answer):  # ItemErrorDetails
    field: str | None = None
    """The field with the problem, such as items[3].text."""
    issue: str | None = None
    """The kind of problem with the field, such as required, format or too_long."""
    limit: str | None = None
    """The limit of the tier that is reached."""


class BatchResult(Answer):  # MemoryResult
    deduplicated: bool | None = None
    """Whether an equal memory existed, which is returned here."""
    error: BatchError | None = None
    """The reason why the item was refused. It is absent if the item was stored."""
    index: int
    """The position of the item in the request, starting at 0."""
    memory: Memory | None = None
    """The memory that the item created, replaced or repeats. It is absent if the item was refused."""
    status: int
    """The status that a request with this item alone would have: 201, 200 or that of its error."""


class BatchResults(Answer):  # CreateMemoriesAnswer
    results: list[BatchResult]
    """The results of the items, in the order of the items."""


class Budget(Answer):  # BudgetView
    limit: int
    """The number of requests that are allowed until the reset."""
    remaining: int
    """The number of requests left until the reset."""
    resets_at: datetime
    """The time at which remaining is limit again."""
    used: int
    """The number of requests that were charged since the last reset."""


class Budgets(Answer):  # BudgetPair
    daily: Budget | None
    """The quota of the UTC day. It is None if there is none."""
    monthly: Budget | None
    """The quota of the UTC month. It is None if there is none."""


class Cache(Answer):  # CacheView
    bytes: int
    """The estimated memory use in bytes."""
    capacity: int
    """The maximum number of entries. 0 means that the cache has no limit."""
    entries: int
    """The number of entries that are in the cache now."""
    evictions: int
    """The number of entries that were removed to make room, since the start of the process."""
    hit_ratio: float
    """The hits as a fraction of all look-ups. It is 0 before the first one."""
    hits: int
    """The number of look-ups that found an entry, since the start of the process."""
    misses: int
    """The number of look-ups that found none, since the start of the process."""
    name: str
    """The name of the cache, such as apiKeys or recallIndexes."""


class CacheStats(Answer):  # CacheStatsAnswer
    caches: list[Cache]
    """The caches of the process that answered the request."""
    database: str
    """Whether this process has its own database, or several processes can share one."""
    embeddings: EmbeddingState
    """The state of the embeddings endpoint, and what was sent to it."""
    limiter: Limiter
    """The way in which requests are counted for rate limits and quotas."""
    members: int
    """The number of processes of the instance that respond, with this one."""
    open_search: OpenSearch | None = None
    """The indexes in OpenSearch, as this process knows them. It is absent without a cluster (search.opensearch.url)."""
    parts: list[SystemPart]
    """The parts of the process that answered the request. The readiness check lists the same parts."""
    request_id: str
    """The ID of the request, as in X-Request-Id."""
    search_indexes: SearchIndexes
    """The search indexes that this process holds, of all workspaces together."""
    uptime_seconds: int
    """The number of seconds since the process started."""


class Collection(Answer):  # CollectionView
    collection: str
    """The name of the collection."""
    documents: int
    """The number of documents in the collection."""
    fields: dict[str, float] | None
    """The fields that are searched, with their weights. It is None if they were not set: then title is searched with a weight of 2.5 and text with 1."""
    language: str | None
    """The language of documents that have none of their own. It is None if the words of each document decide."""
    revision: int
    """The revision of the settings, which also grows when they are removed. It is 0 if there never were any. ETag and If-Match have it in quotes."""
    synonyms: list[Any]
    """The rows of synonyms: arrays of words that find each other, objects with from and to, and "english" for the program's own list. It is empty if there are none."""
    updated_at: datetime | None
    """The time of the last change of the settings. It is None if the collection has no settings."""


class CollectionPage(Answer):  # ListCollectionsAnswer
    items: list[Collection]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class ContextOmitted(Answer):  # ContextOmitted
    pinned: int
    """The number of pinned memories that had no room."""
    recalled: int
    """The number of memories that answer the query and had no room."""
    recent: int
    """The number of other memories that had no room, among the newest ones up to limit."""


class ContextParts(Answer):  # ContextParts
    pinned: list[str]
    """The IDs of the pinned memories."""
    recalled: list[str]
    """The IDs of the memories that answer the query."""
    recent: list[str]
    """The IDs of the newest memories, which fill the rest of the text."""


class CreatedAPIKey(Answer):  # CreatedAPIKeyView
    agent_id: str | None
    """The ID of the agent that the key is bound to. It is None if the key is not bound to one."""
    allowed_ips: list[str]
    """The networks that the key can be used from, in CIDR notation. An empty list means any address."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the user or key that created the key, or local."""
    expires_at: datetime | None
    """The time at which the key expires. It is None if the key does not expire."""
    hint: str
    """The first characters of the key, which help people to tell keys apart."""
    id: str
    """The ID of the key, which begins with key_. A rotation keeps it."""
    key: str | None
    """The text of the key. It is shown once and is None in a replayed response."""
    last_used_at: datetime | None
    """The time of the last request with any secret of the key. It is None if there was none."""
    metadata: dict[str, int | str | float | bool]
    """The metadata that was stored with the key: strings, numbers or booleans by name."""
    name: str
    """The display name of the key."""
    quota: Quota | None
    """The key's own quotas. It is None if only the workspace's quotas apply."""
    rate_limit: RateLimit
    """The limit of the key per minute, which applies in addition to the workspace's."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    revoke_reason: str | None
    """The reason that was given for the revocation. It is None if there was none."""
    revoked_at: datetime | None
    """The time at which the key was revoked. It is None if the key is not revoked."""
    scopes: list[str]
    """The scopes of the key, which say what requests with it can do."""
    secrets: list[Secret]
    """The secrets of the key, newest first. A key that is being rotated has two."""
    state: str
    """The state of the key. While it is rotating, two secrets work. Only active and rotating keys are accepted."""
    subject_id: str | None
    """The ID of the subject that the key is bound to. It is None if the key is not bound to one."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""


class CreatedUser(Answer):  # CreatedUserView
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    disabled: bool
    """Whether the user is disabled. A disabled user cannot sign in."""
    email: str
    """The email address with which the user signs in, in lower case. It is unique within the instance."""
    id: str
    """The ID of the user, which begins with usr_."""
    last_login_at: datetime | None
    """The time of the last sign-in. It is None if there was none."""
    name: str | None
    """The display name of the user. It is None if there is none."""
    password: str | None = None
    """The generated password. It is absent if the request had a password. It is shown once and is None in a replayed response."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    role: str
    """The role of the user, which sets the scopes."""
    workspace_id: str
    """The ID of the workspace that the user belongs to."""


class CreatedWebhook(Answer):  # CreatedWebhookView
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the key or user that created the webhook, or local."""
    description: str
    """The description for people. It is empty if there is none."""
    disabled: bool
    """Whether the webhook is disabled, so that nothing is delivered."""
    disabled_at: datetime | None
    """The time at which the webhook was disabled. It is None if the webhook is not disabled."""
    disabled_reason: str | None
    """Why nothing is delivered: it was requested, nothing could be delivered for three days, the receiver answered 410, or too many deliveries waited. It is None if the webhook is not disabled."""
    events: list[str]
    """The types of the events that are delivered."""
    failing_since: datetime | None
    """The first failure after the last delivery that succeeded. It is None unless deliveries are failing."""
    id: str
    """The ID of the webhook, which begins with whk_."""
    last_success_at: datetime | None
    """The time of the last delivery that succeeded, to the minute. It is None if there was none."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    secret: str | None
    """The secret that signs deliveries. It is shown once, and None in a repeated response. It is shown once and is None in a replayed response."""
    secrets: list[WebhookSecret]
    """The secrets that sign deliveries, newest first."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    url: str
    """The URL to which events are sent."""


class DeletedDocuments(Answer):  # DeleteDocumentsAnswer
    deleted: int
    """The number of documents that were deleted, which is 0 for a dry run."""
    matched: int
    """The number of documents that exist and are selected."""


class Delivery(Answer):  # DeliveryView
    attempts: list[DeliveryAttempt]
    """The newest twenty attempts, oldest first."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    event: str
    """The type of the event."""
    event_id: str
    """The ID of the event, which is the same for all webhooks and in the header webhook-id."""
    finished_at: datetime | None
    """The time at which the delivery succeeded or failed. It is None while it is pending."""
    id: str
    """The ID of the delivery, which begins with dlv_."""
    next_attempt_at: datetime | None
    """The time of the next attempt. It is None unless the delivery is pending."""
    payload: str
    """The body of the requests, byte by byte."""
    state: str
    """The state of the delivery. It is pending until an attempt succeeds or the last one has failed."""
    webhook_id: str
    """The ID of the webhook that the event is delivered to."""


class DeliveryAttempt(Answer):  # AttemptView
    at: datetime
    """The time at which the attempt began."""
    error: str | None
    """Why the attempt failed. It is None if it succeeded. connection_failed also means that the address is not on the public internet."""
    ms: float
    """The duration of the attempt in milliseconds."""
    status: int | None
    """The status of the response. It is None if there was none."""


class Document(Answer):  # DocumentView
    collection: str
    """The collection that the document belongs to."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    id: str
    """The ID of the document, which is unique in its workspace."""
    language: str | None
    """The language of the document, as it was stored. It is None if none was."""
    metadata: dict[str, int | str | float | bool | list[int | str | float | bool]]
    """The metadata of the document: strings, numbers, booleans or arrays of these by name."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    tags: list[str]
    """The tags of the document, in the order in which they were sent."""
    text: str
    """The text of the document as it was stored. It is empty if the document has none."""
    title: str
    """The title of the document. It is empty if the document has none."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    url: str | None
    """The URL of the original. It is None if none was stored."""


class DocumentPage(Answer):  # ListDocumentsAnswer
    items: list[Document]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class EmbeddingProgress(Answer):  # EmbeddingProgressView
    memories: int
    """The number of memories in these workspaces."""
    texts_today: int
    """Texts that all processes together sent, or reserved to send, in this UTC day."""
    waiting_memories: int
    """Memories of subjects that lack vectors. All memories of a subject wait until the last one has a vector."""
    waiting_subjects: int
    """The number of subjects with memories that lack vectors."""
    workspaces: int
    """The number of workspaces that use the endpoint."""


class EmbeddingState(Answer):  # EmbeddingsView
    daily_texts: int
    """The number of texts that can be sent in a UTC day."""
    degraded_queries: int
    """Queries that this process answered without a vector since its start."""
    progress: EmbeddingProgress | None = None
    """The progress is absent without an endpoint, and while the database does not answer."""
    sent_memories: int
    """Texts of memories that this process sent since its start."""
    sent_queries: int
    """Queries that this process sent since its start."""
    state: str
    """The state is off without an endpoint, paused for a while after failures, and limited when the limit of the day, or a workspace's share of it, is reached."""


class ErrorBody(Answer):  # ErrorBody
    details: ErrorDetails | None = None
    """What exactly is wrong. Each member is there only if it says something."""
    error: str
    """The machine-readable code of the error."""
    message: str
    """The message for people. Its wording can change."""
    request_id: str
    """The ID of the request, as in X-Request-Id."""


class ErrorCount(Answer):  # ErrorCountView
    count: int
    """The number of such responses."""
    group: ErrorGroup
    """The route, status and code that the errors share."""
    last_at: datetime
    """The time of the last such response."""


class ErrorCounts(Answer):  # ListErrorsAnswer
    items: list[ErrorCount]
    """The kinds of errors, with the most frequent first, at most limit."""


class ErrorDetails(Answer):  # ErrorDetails
    field: str | None = None
    """The parameter or field with the problem, such as rateLimit.requestsPerMinute or items[3].text."""
    issue: str | None = None
    """The kind of problem with the field."""
    limit: str | None = None
    """The limit of the tier that is reached, such as documents or storage."""
    policy: str | None = None
    """The limit or quota that is used up, such as tier_minute or daily_quota."""
    required_scope: str | None = None
    """The scope that the credential lacks."""


class ErrorGroup(Answer):  # ErrorGroupView
    code: str
    """The machine-readable code of the error."""
    route: str
    """The template of the path, or none for paths that do not exist."""
    status: int
    """The HTTP status of the response."""


class FacetCount(Answer):  # FacetCount
    count: int
    """The number of matching documents with this value."""
    value: str
    """A collection, a tag, or a value of a metadata entry as a text."""


class ForgetFilter(Input):  # ForgetFilter
    agent_id: str | None = None
    """Include only memories of this agent."""
    from_: datetime | None = None
    """Include only memories at or after this time."""
    kinds: list[Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"]] | None = None
    """The kinds to include. A memory must have one of them."""
    session_id: str | None = None
    """Include only memories of this conversation."""
    tags: list[str] | None = None
    """The tags to match. A memory must have all of them."""
    to: datetime | None = None
    """Include only memories before this time."""


class ForgetPlan(Answer):  # ForgetMemoriesAnswer
    memory_ids: list[str]
    """The IDs of the memories that the plan erases. Only a dry run returns them."""
    plan_id: str
    """The ID of the plan, for a request with dryRun False. Only a dry run returns it."""
    expires_at: datetime
    """The time at which the plan becomes invalid, an hour after the dry run. Only a dry run returns it."""


class Forgotten(Answer):  # ForgetMemoriesAnswer
    forgotten: int
    """The number of memories that were erased. It is absent after a dry run."""


class Found(Answer):  # SearchView
    facets: dict[str, list[FacetCount]]
    """The counts of matching documents by facet, most frequent value first, at most 100 values each. Without facets in the request, it is empty."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""
    query: str
    """The query as it was sent."""
    results: list[SearchResult]
    """The documents of this page. The list is empty if nothing matches."""
    suggestion: str | None
    """The query with similar words for those that no document has, or that few have and are probably misspelled. It is None if there is none."""
    took_ms: float
    """The duration of the search in milliseconds, with a fraction."""
    total: int
    """The number of documents that match, on all pages together."""
    total_relation: str
    """Whether total is exact, which is eq, or a lower bound, which is gte."""


class GetToolsMetadata(Answer):  # GetToolsMetadataAnswer
    bearer_methods_supported: list[str]
    """The ways to send a credential as a bearer token. The only one is the header Authorization."""
    resource: str
    """The absolute address of the endpoint for tools."""
    resource_name: str
    """The name of the service."""
    scopes_supported: list[str]
    """The scopes that let a credential call tools."""


class GroupSeries(Answer):  # SeriesView
    group: UsageGroup
    """The values of groupBy that the requests of the series share. Other dimensions are absent."""
    points: list[SeriesPoint]
    """The points of the series, one for each interval, oldest first."""


class Health(Answer):  # HealthView
    status: str
    """The state of the service. It is degraded if a part is missing but requests are still handled."""
    timestamp: datetime
    """The time at which the request arrived."""
    version: str
    """The version of the API that handled the request."""


class Highlight(Answer):  # SearchHighlight
    end: int
    """The end of the highlight, in code points. The code point at this offset is no longer part of it."""
    field: str
    """The field of the result that the offsets point into."""
    start: int
    """The start of the highlight, in code points."""


class Import(Answer):  # ImportDocumentsAnswer
    created: int
    """The number of lines whose document is new."""
    deleted: int
    """The number of documents that were deleted, because replace is True and the body does not contain them."""
    errors: list[ImportLineError]
    """The first 100 lines that were refused, in the order of the lines."""
    failed: int
    """The number of lines that were refused."""
    issues: list[ImportIssue]
    """How many lines failed for which reason, and what was left out of lines that were imported, the most frequent first. Lines that are equal to one before them, and have no ID, are counted as duplicate."""
    received: int
    """The number of lines or rows that were read, without blank ones."""
    replaced: int
    """The number of lines whose document replaced one with the same ID."""


class ImportIssue(Answer):  # LineIssue
    count: int
    """The number of lines that failed for this reason, or of values that were left out for it."""
    field: str
    """The field with the problem, body for the whole line, or the limit of the tier that is reached."""
    issue: str
    """The kind of problem with the field, such as required, format or too_long."""


class ImportLineError(Answer):  # LineError
    field: str
    """The field with the problem, body for the whole line, or the limit of the tier that is reached."""
    issue: str
    """The kind of problem with the field, such as required, format or too_long."""
    line: int
    """The number of the line, starting at 1."""
    message: str
    """The message for people. Its wording can change."""


class KeyUse(Answer):  # KeyUseView
    daily: int
    """What the key was charged in the current UTC day."""
    key_id: str
    """The ID of the API key."""
    monthly: int
    """What the key was charged in the current UTC month."""


class Language(Answer):  # LanguageView
    language: str
    """The code of the language in ISO 639-1. The code und stands for any language that is not in the list."""
    name: str
    """The English name of the language."""
    stemmer: bool
    """Whether a word finds its other forms. In languages without a stemmer, words match as they are spelled."""


class LanguagePage(Answer):  # ListLanguagesAnswer
    items: list[Language]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class Limiter(Answer):  # LimiterView
    degraded: bool
    """Whether counters cannot be stored or shared right now."""
    mode: str
    """How requests are counted. With local, one process counts all of them. With split, each process has its share of every limit. With shared, all processes count together."""


class Livez(Answer):  # LivezAnswer
    status: str
    """The value is always alive."""


class LoggedRequest(Answer):  # RequestView
    at: datetime
    """The time at which the request arrived."""
    client: str | None
    """The name of the calling program from User-Agent. It is None if there is none."""
    code: str | None
    """The machine-readable code of the error. It is None for a success."""
    key_id: str | None
    """The ID of the API key. It is None for requests without one."""
    method: str
    """The HTTP method of the request."""
    ms: float
    """The time from the arrival of the request to the end of its response, in milliseconds."""
    request_id: str
    """The ID of the request, as in X-Request-Id."""
    route: str
    """The template of the path, or none for paths that do not exist."""
    status: int
    """The HTTP status of the response."""
    surface: str
    """The surface that got the request: the API, the AI services, the backend service, or the API for the console."""
    user_id: str | None
    """The ID of the signed-in user. It is None for requests without an access token."""
    version: str
    """The number of the version of the API, or none for a request without one."""
    workspace_id: str | None
    """The workspace of the caller. It is None for a caller without a valid credential, which only operators see."""


class ManyFound(Answer):  # SearchMultiAnswer
    results: list[Found | ErrorBody | RateLimitBody]
    """The results of the searches, in their order. A result with the field error is the body of an error."""


class Memory(Answer):  # MemoryView
    agent_id: str | None
    """The ID of the agent that the memory belongs to. It is None if there is none."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the key or user that stored the memory first, or local."""
    expires_at: datetime | None
    """The time at which the memory is erased. It is None if the memory is not erased by itself."""
    id: str
    """The ID of the memory, which begins with mem_."""
    importance: float | None
    """The importance of the memory, from 0 to 1. It is None if none was stored."""
    imported_by: str | None
    """The ID of the key or user whose import the memory comes from. createdAt, createdBy and the history are then what the import said. It is None if the memory was not imported."""
    key: str | None
    """The name for what the memory says about the subject, by which a later memory replaces it. It is None if there is none."""
    kind: str
    """The kind of the memory, which is fact unless another one was stored."""
    metadata: dict[str, int | str | float | bool]
    """The metadata of the memory: strings, numbers or booleans by name."""
    occurred_at: datetime | None
    """The time at which the event happened or the text was said. It is None if none was stored."""
    pinned: bool
    """Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    session_id: str | None
    """The ID of the conversation that the memory comes from. It is None if there is none."""
    source: str | None
    """The source of the memory. It is None if none was stored."""
    speaker: str | None
    """The speaker of the text. It is None if none was stored."""
    status: str
    """The status of the memory. It is superseded after validTo."""
    subject_id: str
    """The ID of the subject that the memory is about."""
    tags: list[str]
    """The tags of the memory, in the order in which they were sent."""
    text: str
    """The text of the memory, as it was stored."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    valid_from: datetime | None
    """The time from which the memory is valid. It is None if none was stored."""
    valid_to: datetime | None
    """The time until which the memory is valid. It is None if the memory stays valid."""


class MemoryImport(Answer):  # ImportMemoriesAnswer
    created: int
    """The number of lines whose memory is new."""
    errors: list[ImportLineError]
    """The first 100 lines that were refused, in the order of the lines."""
    failed: int
    """The number of lines that were refused."""
    issues: list[ImportIssue]
    """How many lines failed for which reason, the most frequent first."""
    received: int
    """The number of lines that were read, without blank ones."""
    replaced: int
    """The number of lines whose memory replaced one with the same ID."""
    unchanged: int
    """The number of memories that existed already and are equal to their line."""


class MemoryPage(Answer):  # ListMemoriesAnswer
    items: list[Memory]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class MemoryRevision(Answer):  # MemoryRevisionView
    agent_id: str | None
    """The ID of the agent that the memory belongs to. It is None if there is none."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the key or user that stored the memory first, or local."""
    expires_at: datetime | None
    """The time at which the memory is erased. It is None if the memory is not erased by itself."""
    id: str
    """The ID of the memory, which begins with mem_."""
    importance: float | None
    """The importance of the memory, from 0 to 1. It is None if none was stored."""
    imported_by: str | None
    """The ID of the key or user whose import the memory comes from. createdAt, createdBy and the history are then what the import said. It is None if the memory was not imported."""
    key: str | None
    """The name for what the memory says about the subject, by which a later memory replaces it. It is None if there is none."""
    kind: str
    """The kind of the memory, which is fact unless another one was stored."""
    metadata: dict[str, int | str | float | bool]
    """The metadata of the memory: strings, numbers or booleans by name."""
    occurred_at: datetime | None
    """The time at which the event happened or the text was said. It is None if none was stored."""
    pinned: bool
    """Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    session_id: str | None
    """The ID of the conversation that the memory comes from. It is None if there is none."""
    source: str | None
    """The source of the memory. It is None if none was stored."""
    speaker: str | None
    """The speaker of the text. It is None if none was stored."""
    status: str
    """The status of the memory. It is superseded after validTo."""
    subject_id: str
    """The ID of the subject that the memory is about."""
    tags: list[str]
    """The tags of the memory, in the order in which they were sent."""
    text: str
    """The text of the memory, as it was stored."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    updated_by: str
    """The ID of the key or user that created this revision, or local."""
    valid_from: datetime | None
    """The time from which the memory is valid. It is None if none was stored."""
    valid_to: datetime | None
    """The time until which the memory is valid. It is None if the memory stays valid."""


class MemoryRevisionPage(Answer):  # GetMemoryHistoryAnswer
    items: list[MemoryRevision]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class NewDocument(Input):  # NewDocument
    collection: str | None = None
    """The collection that the document belongs to. The default is the collection named default."""
    id: str | None = None
    """The ID of the document. If it is omitted, one is generated. An integer is taken as its digits."""
    language: str | None = None
    """The language of the document, as a code that GET /api/v1/languages lists. Without one, it is that of the collection's settings, or else that of the document's own words."""
    metadata: dict[str, int | str | float | bool | list[int | str | float | bool] | None] | None = None
    """Named values: strings of at most 1,024 characters, numbers, booleans, or arrays of at most 64 of these."""
    tags: list[str] | None = None
    """Words to select documents by, in lists and searches. Repeated ones are stored once."""
    text: str | None = None
    """The text that search finds and shows in snippets. At least one of title and text must not be blank."""
    title: str | None = None
    """The title. At least one of title and text must not be blank."""
    url: str | None = None
    """The http or https URL of the original."""


class NewMemory(Input):  # NewMemory
    agent_id: str | None = None
    """The agent that the memory belongs to."""
    allow_duplicate: bool | None = None
    """Store the memory even if an equal one exists."""
    deduplicate: bool | None = None
    """Return an equal memory that exists instead of storing another one, also for turns and events."""
    expires_at: datetime | None = None
    """The time at which the memory is erased."""
    importance: float | None = None
    """The importance of the memory, which ranks memories that match a query equally well."""
    key: str | None = None
    """A name for what the memory says about the subject. A later memory with the same key replaces this one."""
    kind: Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"] | None = None
    """The kind of the memory. The default is fact."""
    metadata: dict[str, int | str | float | bool | None] | None = None
    """Named values: strings of at most 1,024 characters, numbers or booleans."""
    occurred_at: datetime | None = None
    """The time at which the event happened or the text was said."""
    pinned: bool | None = None
    """Whether the memory is ranked first among memories that match a query equally well."""
    session_id: str | None = None
    """The conversation that the memory comes from."""
    source: str | None = None
    """The source of the memory, such as a URL or the name of a form."""
    speaker: str | None = None
    """The name of the speaker, such as Ada or assistant. If a query names the speaker, what that speaker said scores more."""
    subject_id: str | None = None
    """The subject that the memory is about. Use a pseudonym, because the ID appears in URLs. It is required unless the API key is bound to a subject."""
    tags: list[str] | None = None
    """Words to select memories by, in lists and recalls. Repeated ones are stored once."""
    text: str
    """The text of the memory, which is stored verbatim."""
    valid_from: datetime | None = None
    """The time from which the memory is valid."""
    valid_to: datetime | None = None
    """The time until which the memory is valid. After it, the memory is superseded."""


class NewQuota(Input):  # QuotaPart
    daily: int | None = None
    """The number of requests in a UTC day. None means that the key has no quota of its own for a day."""
    monthly: int | None = None
    """The number of requests in a UTC month. None means that the key has no quota of its own for a month."""


class NewRateLimit(Input):  # RateLimitPart
    requests_per_minute: int | None = None
    """The number of requests per minute. None means that the tier's number applies."""


class OpenSearch(Answer):  # OpenSearchView
    since: datetime | None
    """The time since when the cluster has been in this state; None while it is starting."""
    state: str
    """The state of the cluster: starting until this process has tried to reach it, ok, or what is the matter, such as unreachable, denied or unsupported."""
    version: str | None
    """The version of OpenSearch; None until it was read."""
    workspace_count: int
    """The number of workspaces whose index is in OpenSearch or is moved there."""
    workspaces: list[OpenSearchWorkspace]
    """At most 20 of these workspaces, those in the worst state first."""


class OpenSearchWorkspace(Answer):  # OpenSearchWorkspaceView
    changes_behind: int | None
    """The number of changes that the index lacks; None: the cluster or the database did not answer."""
    complete: bool | None
    """Whether there is an index that searches can read; None: the cluster or the database did not answer."""
    id: str
    """The ID of the workspace."""
    move_percent: int | None
    """How much of the new index is built, in percent; None: this process does not know."""
    moves_to: str | None
    """The place to which the index is being moved; None: it is not."""
    name: str
    """The name of the workspace."""
    searched_in: str
    """The place of the index that answers searches now."""
    since: datetime | None
    """The time since when the index has been in this state; None if another process follows the workspace."""
    state: str
    """The state of the index: ok, elsewhere if another process follows the workspace, or what is the matter, such as unreachable, full or throttled."""


class OwnRate(Answer):  # OwnRateView
    inherited: bool
    """Whether the limit is the tier's and changes with it."""
    limit: int
    """The number of requests that are allowed until the reset."""
    remaining: int
    """The number of requests left until the reset."""
    resets_at: datetime
    """The time at which remaining is limit again."""
    used: int
    """The number of requests that were charged since the last reset."""


class PackedContext(Answer):  # RecallContextAnswer
    cut: list[str]
    """The IDs of those memories of which the text has only the beginning. GET /memories/{id} returns them whole."""
    degraded: list[str] | None = None
    """What the ranking had to do without; absent if nothing. It contains embeddings if the embeddings endpoint did not answer in time."""
    memory_ids: list[str]
    """The IDs of the memories in the order in which they appear in the text."""
    omitted: ContextOmitted
    """The numbers of memories that had no room in the text."""
    parts: ContextParts
    """The IDs of the memories in the text, by the reason why they are in it."""
    text: str
    """The text for the prompt. It is empty if there is no memory to show, or no room for one."""
    tokens: int
    """The estimated number of tokens in the text. The estimate is usually higher than what a model counts."""


class PortableDocument(Answer):  # PortableDocument
    collection: str
    """The collection that the document belongs to."""
    id: str
    """The ID of the document, which an import keeps."""
    language: str | None
    """The language of the document, as it was stored. It is None if none was."""
    metadata: dict[str, int | str | float | bool | list[int | str | float | bool]]
    """The metadata of the document: strings, numbers, booleans or arrays of these by name."""
    tags: list[str]
    """The tags of the document, in the order in which they were sent."""
    text: str
    """The text of the document as it was stored. It is empty if the document has none."""
    title: str
    """The title of the document. It is empty if the document has none."""
    url: str | None
    """The URL of the original. It is None if none was stored."""


class PortableMemory(Answer):  # PortableView
    agent_id: str | None
    """The ID of the agent that the memory belongs to. It is None if there is none."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the key or user that stored the memory first, or local."""
    expires_at: datetime | None
    """The time at which the memory is erased. It is None if the memory is not erased by itself."""
    history: list[Revision]
    """The older revisions of the memory, oldest first."""
    id: str
    """The ID of the memory, which an import keeps."""
    importance: float | None
    """The importance of the memory, from 0 to 1. It is None if none was stored."""
    imported_by: str | None
    """The ID of the key or user whose import the memory comes from. It is None if the memory was not imported."""
    key: str | None
    """The name for what the memory says about the subject, by which a later memory replaces it. It is None if there is none."""
    kind: str
    """The kind of the memory, which is fact unless another one was stored."""
    metadata: dict[str, int | str | float | bool]
    """The metadata of the memory: strings, numbers or booleans by name."""
    occurred_at: datetime | None
    """The time at which the event happened or the text was said. It is None if none was stored."""
    pinned: bool
    """Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    session_id: str | None
    """The ID of the conversation that the memory comes from. It is None if there is none."""
    source: str | None
    """The source of the memory. It is None if none was stored."""
    speaker: str | None
    """The speaker of the text. It is None if none was stored."""
    subject_id: str
    """The ID of the subject that the memory is about."""
    tags: list[str]
    """The tags of the memory, in the order in which they were sent."""
    text: str
    """The text of the memory, as it was stored."""
    updated_at: datetime
    """The time at which this revision was created."""
    updated_by: str
    """The ID of the key or user that created this revision, or local."""
    valid_from: datetime | None
    """The time from which the memory is valid. It is None if none was stored."""
    valid_to: datetime | None
    """The time until which the memory is valid. It is None if the memory stays valid."""


class Probe(Answer):  # ProbeView
    changes_behind: int | None = None
    """The number of changes of documents that indexes do not contain yet."""
    database_offset_ms: int | None = None
    """The clock of this machine minus the database's, in milliseconds."""
    free_bytes: int | None = None
    """The free space in bytes of the disk with the data folder."""
    indexes_building: int | None = None
    """The number of indexes that are being built. Nothing but searches of their workspaces waits for them."""
    max_changes_behind: int | None = None
    """The number of changes behind from which the check fails."""
    max_offset_ms: int | None = None
    """The offset in milliseconds, in either direction, from which the check fails."""
    max_wal_bytes: int | None = None
    """The size in bytes of the write-ahead log above which the check fails."""
    min_free_bytes: int | None = None
    """The free space in bytes below which the check fails."""
    ms: float | None = None
    """The time in milliseconds that the part took to answer."""
    redis_offset_ms: int | None = None
    """The clock of this machine minus that of Redis, in milliseconds."""
    status: str
    """The state of the part. Requests are served without a part that is degraded. A part that failed makes the process not ready. The instance does not have a part that is off."""
    wal_bytes: int | None = None
    """The size in bytes of the largest write-ahead log of a SQLite file."""


class Profile(Answer):  # ProfileView
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    email: str
    """The email address with which the user signs in, in lower case."""
    id: str
    """The ID of the user, which begins with usr_."""
    last_login_at: datetime | None
    """The time of the last sign-in. It is None if there was none."""
    name: str | None
    """The display name of the user. It is None if there is none."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    role: str
    """The role of the user, which sets the scopes."""
    scopes: list[str]
    """The scopes of the user's role, which say what requests of the user can do."""
    workspace: ProfileWorkspace
    """The workspace that the user belongs to."""


class ProfileWorkspace(Answer):  # ProfileWorkspace
    id: str
    """The ID of the workspace."""
    name: str
    """The display name of the workspace."""
    tier: str
    """The name of the workspace's tier, which sets its limits."""


class Query(Input):  # SearchParameters
    collection: str | None = None
    """Search only documents of this collection."""
    cursor: str | None = None
    """The nextCursor of the page before. Without it, the response is the first page."""
    facets: list[str] | None = None
    """Names: collection, tag, or metadata entries. The matching documents are counted for each value."""
    filter: list[str] | None = None
    """Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All of them must match."""
    fuzzy: Literal["auto", "off"] | None = None
    """Whether words that no document has are replaced by similar ones: with one edit for 4 to 7 letters, two for more; an edit of the first letter counts as two. off also means that parts of words do not count. The default is auto."""
    highlight: bool | None = None
    """Whether the response says where words of the query are in snippets and titles. The default is True."""
    limit: int | None = None
    """The maximum number of results in the response. The default is 10."""
    passages: int | None = None
    """The number of passages of each text in the response, at most: whole sentences for a prompt."""
    prefix: bool | Literal["auto", "true", "false"] | None = None
    """Whether the last word also matches words that begin with it, for search while typing. auto, the default, means only if no document has it as a word."""
    q: str
    """The words to search for, in the syntax that the operation describes."""
    sort: Literal["relevance", "-updatedAt", "updatedAt"] | None = None
    """The order of the results: relevance has the best match first, updatedAt the oldest change, and -updatedAt the newest. The default is relevance."""
    tag: list[str] | None = None
    """The tags to match. All of them must match."""


class Quota(Answer):  # QuotaView
    daily: int | None
    """The number of requests that the key can make in a UTC day. It is None if the key has no such quota."""
    monthly: int | None
    """The number of requests that the key can make in a UTC month. It is None if the key has no such quota."""


class QuotaUsage(Answer):  # GetQuotaUsageAnswer
    daily: QuotaUse
    """The quota of the workspace for the current UTC day."""
    keys: list[KeyUse]
    """The API keys that were charged this month, those that were charged most first."""
    monthly: QuotaUse
    """The quota of the workspace for the current UTC month."""


class QuotaUse(Answer):  # QuotaUseView
    limit: int | None
    """The quota of the workspace. It is None if there is none."""
    remaining: int | None
    """What is left of the quota. It is None if there is none."""
    resets_at: datetime
    """The time at which the quota starts again from 0."""
    used: int
    """The number of requests that were charged since the last reset."""


class RankedUsage(Answer):  # RankedView
    errors: int
    """The number of responses with a status of 400 or more, except 429."""
    group: UsageGroup
    """The values of groupBy that the requests of the group share. Other dimensions are absent."""
    p99_ms: float | None
    """The milliseconds that 99 of 100 requests did not exceed. They are None if there were no requests."""
    requests: int
    """The number of requests, including refused ones."""
    throttled: int
    """The number of responses with status 429."""


class RateLimit(Answer):  # RateLimitView
    inherited: bool
    """Whether the limit is the tier's and changes with it."""
    requests_per_minute: int
    """The number of requests that the key can make in a minute."""


class RateLimitBody(Answer):  # RateLimitBody
    details: ErrorDetails | None = None
    """What exactly is used up: policy names the limit or quota."""
    error: str
    """The machine-readable code of the error."""
    message: str
    """The message for people. Its wording can change."""
    remaining: int
    """The number of requests left, which is 0 or less than the request costs."""
    request_id: str
    """The ID of the request, as in X-Request-Id."""
    reset_time_ms: int
    """The number of milliseconds until the limit resets."""


class Readiness(Answer):  # Readiness
    checks: dict[str, Probe]
    """The parts of the process by name, each with the numbers that its check measured. It is empty while the process shuts down."""
    error: str | None = None
    """The machine-readable code of the error. It is absent unless the process is not ready."""
    message: str | None = None
    """The message for people, which names the parts that failed. It is absent unless the process is not ready."""
    request_id: str | None = None
    """The ID of the request, as in X-Request-Id. It is absent unless the process is not ready."""
    status: str
    """Whether the process is ready. It is degraded if requests are served without a part."""


class RecallResult(Answer):  # RecallResult
    matched: list[str]
    """The words of the query that the memory contains."""
    memory: Memory
    """The memory, as it is stored now."""
    rank: int
    """The rank of the memory, starting at 1."""
    score: float
    """The score of the memory, which is the sum of what each signal adds. It is 0 for memories that only fill the list."""
    why: RecallWhy | None = None
    """What each signal added to the score. It is present only if explain is true."""


class RecallWhy(Answer):  # RecallWhy
    answer: float
    """The score for the kind of answer that the query asks for, such as a time or a number."""
    date: float
    """The score for a time that the query names."""
    meaning: float
    """The score of words that are not the same but occur in similar texts, in the memory and in the turns around it. Vectors of an embeddings endpoint take the place of those of words, if the workspace uses one."""
    neighbours: float
    """The score of the two turns before it in the session: the last one of the same speaker, and the last question of another one."""
    related: float
    """The score of words with a similar meaning."""
    session: float
    """The score of the whole session for this query."""
    speaker: float
    """The score for a speaker whom the query names."""
    together: float
    """The score of the whole query: the share of it that the memory and the two turns before and after it contain."""
    words: float
    """The score of words of the query, compared by their stems."""
    worth: float
    """The score of the text itself, whatever the query asks. Statements with names and numbers score more than questions and small talk."""


class Recalled(Answer):  # RecallAnswer
    degraded: list[str] | None = None
    """What the ranking had to do without; absent if nothing. It contains embeddings if the embeddings endpoint did not answer in time."""
    results: list[RecallResult]
    """The memories that answer the query, best first. The list is empty if none does."""
    took_ms: float
    """The duration of the ranking in milliseconds."""


class Receipt(Answer):  # ReceiptView
    erased_at: datetime
    """The time at which the subject was erased."""
    key_backups_before: datetime
    """The time before which backups of keys still contain the destroyed key. With such a backup, older backups of data remain readable."""
    live_key_destroyed: bool
    """Whether the data key was destroyed on this instance."""
    memories: int
    """The number of memories that were erased."""
    receipt_id: str
    """The ID of the receipt, which also is in the event subject.erased."""
    signature: str
    """A compact JWS (EdDSA) over the other fields and the ID of the workspace, signed by a key in /.well-known/jwks.json."""


class Rehearsal(Answer):  # RehearsalView
    key_id: str
    """The ID of the API key whose requests are refused."""
    until: datetime
    """The time at which the rehearsal ends."""
    workspace_id: str
    """The ID of the API key's workspace."""


class ReportError(Answer):  # ReportError
    field: str
    """The field with the problem, such as items[3].at."""
    id: str | None = None
    """The ID of the item. It is absent if the item has none."""
    index: int
    """The position of the item in the request, starting at 0."""
    issue: str
    """The kind of problem with the field, such as required, format or too_long."""
    message: str
    """The message for people. Its wording can change."""


class RequestPage(Answer):  # ListRequestsAnswer
    items: list[LoggedRequest]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""
    sampled: bool
    """Whether requests of the period were left out of the log, because there were too many in a second."""


class Revision(Answer):  # RevisionView
    expires_at: datetime | None
    """The time at which the memory is erased. It is None if the memory is not erased by itself."""
    importance: float | None
    """The importance of the memory, from 0 to 1. It is None if none was stored."""
    key: str | None
    """The name for what the memory says about the subject, by which a later memory replaces it. It is None if there is none."""
    kind: str
    """The kind of the memory, which is fact unless another one was stored."""
    metadata: dict[str, int | str | float | bool]
    """The metadata of the memory: strings, numbers or booleans by name."""
    occurred_at: datetime | None
    """The time at which the event happened or the text was said. It is None if none was stored."""
    pinned: bool
    """Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    source: str | None
    """The source of the memory. It is None if none was stored."""
    speaker: str | None
    """The speaker of the text. It is None if none was stored."""
    tags: list[str]
    """The tags of the memory, in the order in which they were sent."""
    text: str
    """The text of the memory, as it was stored."""
    updated_at: datetime
    """The time at which this revision was created."""
    updated_by: str
    """The ID of the key or user that created this revision, or local."""
    valid_from: datetime | None
    """The time from which the memory is valid. It is None if none was stored."""
    valid_to: datetime | None
    """The time until which the memory is valid. It is None if the memory stays valid."""


class RotatedSigningKey(Answer):  # RotateSigningKeyAnswer
    id: str
    """The ID of the new key, which is kid in tokens and in the JWK set."""


class SearchIndexes(Answer):  # SearchIndexesView
    building: int
    """The number of indexes that are being built now. Searches of their workspaces wait, or get 503."""
    building_documents: int
    """How many documents these have so far."""
    building_total: int
    """How many documents they will have."""
    built: int
    """How many indexes were built since the start of the process."""
    dead_documents: int
    """Deleted and replaced documents whose words are still in files."""
    disk_budget_bytes: int
    """The bytes of files beyond which the indexes that were searched least recently are dropped (search.diskBudget). 0 means no bound."""
    documents: int
    """The number of documents in the indexes that were opened since the start of the process."""
    dropped: int
    """How many indexes were dropped since the start of the process, because of the disk budget."""
    file_bytes: int
    """The size of the indexes' files in bytes."""
    flushes: int
    """How often changes in memory were written to a file since the start of the process."""
    held: int
    """The number of indexes that the process holds: those of workspaces that were searched through it."""
    lag_changes: int
    """Changes of documents that the open indexes do not contain yet."""
    memory_bytes: int
    """The size in bytes of what is not in files yet."""
    merges: int
    """How often files were merged since the start of the process."""
    renewed_documents: int
    """How many documents were indexed again for that reason since the start of the process."""
    renewing_documents: int
    """Documents that are to be indexed again, because the settings of their collection changed."""
    rewritten_documents: int
    """How many documents were written by flushes and merges since the start of the process."""
    segments: int
    """The number of parts that the indexes consist of, in files and in memory."""


class SearchMove(Answer):  # SearchMove
    from_: str
    """The engine that answers searches now: local or opensearch."""
    percent: int | None
    """How much of the new index is built, in percent; None: the cluster does not answer."""


class SearchPassage(Answer):  # SearchPassage
    end: int
    """The end of the passage, in code points. The code point at this offset is no longer part of it."""
    start: int
    """The start of the passage in the text of the document, in code points."""
    text: str
    """Whole sentences of the text, at most 1,000 characters. A longer sentence is cut between words."""


class SearchResult(Answer):  # SearchResult
    collection: str
    """The collection that the document belongs to."""
    highlights: list[Highlight]
    """The places of words of the query in snippet and title. The list is empty if highlight is False."""
    id: str
    """The ID of the document."""
    metadata: dict[str, int | str | float | bool | list[int | str | float | bool]]
    """The metadata of the document: strings, numbers, booleans or arrays of these by name."""
    passages: list[SearchPassage]
    """The parts of the document's text that match best, best first. They do not overlap. If only the title matches, the passage is the beginning of the text. The list is empty if passages is 0."""
    score: float
    """The score of the match. It is higher for better matches, and comparable only within one response."""
    snippet: str
    """The plain text around the best match."""
    tags: list[str]
    """The tags of the document, in the order in which they were sent."""
    title: str
    """The title of the document. It is empty if the document has none."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    url: str | None
    """The URL of the original. It is None if none was stored."""


class Secret(Answer):  # SecretView
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    hint: str
    """The first characters of the secret, which help people to tell secrets apart."""
    last_used_at: datetime | None
    """The time of the last request with the secret. It is None if there was none."""
    valid_until: datetime | None
    """The time at which the secret stops working, because a newer one replaces it. It is None for the newest secret."""


class SeriesPoint(Answer):  # PointView
    bytes_in: int
    """The number of bytes in the bodies of the requests."""
    bytes_out: int
    """The number of bytes in the bodies of the responses."""
    complete: bool
    """Whether no more requests can be added to the interval."""
    errors: int
    """The number of responses with a status of 400 or more, except 429."""
    p50_ms: float | None
    """The milliseconds that half of the requests did not exceed. They are None if there were no requests."""
    p90_ms: float | None
    """The milliseconds that nine tenths of the requests did not exceed. They are None if there were no requests."""
    p99_ms: float | None
    """The milliseconds that 99 of 100 requests did not exceed. They are None if there were no requests."""
    requests: int
    """The number of requests, including refused ones."""
    t: datetime
    """The start of the interval."""
    throttled: int
    """The number of responses with status 429."""


class ServedRequests(Input):  # ReportItem
    at: datetime
    """The time of the requests, at most 24 hours before the report."""
    count: int
    """The number of requests that the item stands for."""
    id: str
    """Identifies the item. An item whose ID was accepted for the workspace within 7 days is a duplicate."""
    key_id: str
    """The ID of the API key that the requests were made with."""
    route: str
    """The template of the route, with or without a method before it."""
    status: int
    """The HTTP status of the responses."""


class SetupLink(Answer):  # CreateSetupLinkAnswer
    expires_at: datetime
    """The time at which the link stops working."""
    url: str | None
    """The address of the page on which the user chooses a password. It is None if a repeated request is answered again. It is shown once and is None in a replayed response."""


class SigningKey(Answer):  # JwkView
    alg: str
    """The algorithm of the signatures, which is always EdDSA."""
    crv: str
    """The curve of the key, which is always Ed25519."""
    kid: str
    """The ID of the key, which the header of a token or a receipt names."""
    kty: str
    """The family of the key, which is always OKP (RFC 8037)."""
    use: str
    """The use of the key, which is always to verify signatures."""
    x: str
    """The public key in base64url."""


class SigningKeys(Answer):  # GetSigningKeysAnswer
    keys: list[SigningKey]
    """The keys that sign tokens, newest first, followed by the key that signs receipts."""


class StartedRehearsal(Answer):  # RehearseSunsetAnswer
    key_id: str
    """The ID of the API key whose requests are refused."""
    until: datetime
    """The time at which the rehearsal ends."""
    version: str
    """The number of the version."""
    workspace_id: str
    """The ID of the API key's workspace."""


class StoredMemory(Answer):  # StoredMemoryView
    agent_id: str | None
    """The ID of the agent that the memory belongs to. It is None if there is none."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the key or user that stored the memory first, or local."""
    deduplicated: bool | None = None
    """Whether an equal memory existed, which is returned here."""
    expires_at: datetime | None
    """The time at which the memory is erased. It is None if the memory is not erased by itself."""
    id: str
    """The ID of the memory, which begins with mem_."""
    importance: float | None
    """The importance of the memory, from 0 to 1. It is None if none was stored."""
    imported_by: str | None
    """The ID of the key or user whose import the memory comes from. createdAt, createdBy and the history are then what the import said. It is None if the memory was not imported."""
    key: str | None
    """The name for what the memory says about the subject, by which a later memory replaces it. It is None if there is none."""
    kind: str
    """The kind of the memory, which is fact unless another one was stored."""
    metadata: dict[str, int | str | float | bool]
    """The metadata of the memory: strings, numbers or booleans by name."""
    occurred_at: datetime | None
    """The time at which the event happened or the text was said. It is None if none was stored."""
    pinned: bool
    """Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    session_id: str | None
    """The ID of the conversation that the memory comes from. It is None if there is none."""
    source: str | None
    """The source of the memory. It is None if none was stored."""
    speaker: str | None
    """The speaker of the text. It is None if none was stored."""
    status: str
    """The status of the memory. It is superseded after validTo."""
    subject_id: str
    """The ID of the subject that the memory is about."""
    tags: list[str]
    """The tags of the memory, in the order in which they were sent."""
    text: str
    """The text of the memory, as it was stored."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    valid_from: datetime | None
    """The time from which the memory is valid. It is None if none was stored."""
    valid_to: datetime | None
    """The time until which the memory is valid. It is None if the memory stays valid."""


class Subject(Answer):  # SubjectView
    bytes: int
    """The number of bytes of the texts of the subject's memories."""
    created_at: datetime
    """The time at which the first memory was stored."""
    first_at: datetime | None
    """The earliest time of a memory, which is its occurredAt or, without it, its createdAt. It is None without memories."""
    last_at: datetime | None
    """The latest time of a memory, which is its occurredAt or, without it, its createdAt. It is None without memories."""
    memories: int
    """The number of the subject's memories."""
    subject_id: str
    """The ID of the subject, as the client chose it."""
    updated_at: datetime
    """The time at which a memory last changed."""


class SubjectPage(Answer):  # ListSubjectsAnswer
    items: list[Subject]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class SystemPart(Answer):  # PartView
    free_bytes: int | None
    """The free space of the disk with the data folder. It is None for other parts."""
    name: str
    """The name of the part, such as storage or disk."""
    status: str
    """Requests are served without a part that is degraded. A part that failed makes the process not ready. The instance does not have a part that is off."""


class Thresholds(Answer):  # ThresholdsView
    days: int
    """The number of days of traffic that the check looks at."""
    key_days: int
    """The least number of days on which such an API key uses the version."""
    key_requests: int
    """The least number of requests of an API key that uses the version regularly."""
    keys: int
    """The number of API keys that use the version regularly from which traffic is significant."""
    keys_percent: int
    """The same as a percentage of all active API keys. The greater number counts."""
    percent: int
    """The percentage of all authenticated requests from which traffic is significant."""


class Tier(Answer):  # TierView
    daily: int
    """The number of requests allowed in a UTC day. It must not be above monthly."""
    documents: int | None
    """The number of documents. None means no limit."""
    keys: int | None
    """The number of API keys that are neither revoked nor expired. None means no limit."""
    memories: int | None
    """The number of memories. None means no limit."""
    monthly: int
    """The number of requests allowed in a UTC month."""
    name: str
    """The name of the tier, which the configuration sets."""
    requests_per_minute: int
    """The number of requests allowed in a minute, which all keys and users of a workspace share."""
    revision: int
    """The revision of the tier. It is 1 while the tier has its configured numbers."""
    storage: int | None
    """The number of bytes that documents, memories, their revisions, plans, stored responses and payloads of events can use. None means no limit."""
    users: int | None
    """The number of users. None means no limit."""


class TierPage(Answer):  # ListTiersAnswer
    items: list[Tier]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class Tokens(Answer):  # GrantView
    access_token: str
    """The access token, which is a JWT."""
    expires_in: int
    """The number of seconds until the access token expires."""
    refresh_expires_in: int
    """The number of seconds until the refresh token expires."""
    refresh_token: str
    """The refresh token, which gets the next pair of tokens once."""
    token_type: str
    """The type of the access token in the header Authorization."""
    user: Profile
    """The profile of the user who signed in."""


class TopUsage(Answer):  # GetTopUsageAnswer
    items: list[RankedUsage]
    """The groups, with those with the most requests first, at most limit."""


class UsageGroup(Answer):  # GroupView
    key: str | None = None
    """The ID of the API key, none for requests without one, or `__other__` for requests that were counted together."""
    method: str | None = None
    """The HTTP method of the requests."""
    route: str | None = None
    """The template of the path, none for paths that do not exist, or `__other__` for requests that were counted together."""
    status: int | None = None
    """The HTTP status of the responses."""
    status_class: str | None = None
    """The first digit of the status, followed by xx."""
    surface: str | None = None
    """The surface that got the requests: the API, the AI services, the backend service, or the API for the console."""
    version: str | None = None
    """The number of the version of the API, or none for requests without one."""


class UsagePoint(Answer):  # UsagePointView
    charged: int
    """The number of requests that were charged to the quotas."""
    errors: int
    """The number of responses with a status of 400 or above, except 429."""
    requests: int
    """The number of requests in the interval, including refused ones."""
    t: datetime
    """The start of the interval."""
    throttled: int
    """The number of responses with status 429."""


class UsageReceipt(Answer):  # ReportUsageAnswer
    accepted: int
    """The number of items that were counted."""
    duplicates: int
    """The number of items that were counted before, and not again."""
    errors: list[ReportError]
    """The items that were refused, in the order of the request."""


class UsageSeries(Answer):  # GetUsageSeriesAnswer
    complete: bool
    """Whether no more requests can be added to the period. It is False as long as its last interval has not ended."""
    from_: datetime
    """The start of the period."""
    interval: str
    """The length of an interval."""
    series: list[GroupSeries]
    """The series, with those with the most requests first."""
    to: datetime
    """The end of the period."""


class UsageSummary(Answer):  # GetUsageSummaryAnswer
    active_keys: int
    """The number of API keys with at least one request."""
    bytes_in: int
    """The number of bytes in the bodies of the requests."""
    bytes_out: int
    """The number of bytes in the bodies of the responses."""
    errors: int
    """The number of responses with a status of 400 or more, except 429."""
    from_: datetime
    """The start of the period."""
    p50_ms: float | None
    """The milliseconds that half of the requests did not exceed. They are None if there were no requests."""
    p90_ms: float | None
    """The milliseconds that nine tenths of the requests did not exceed. They are None if there were no requests."""
    p99_ms: float | None
    """The milliseconds that 99 of 100 requests did not exceed. They are None if there were no requests."""
    requests: int
    """The number of requests, including refused ones."""
    throttled: int
    """The number of responses with status 429."""
    to: datetime
    """The end of the period."""


class User(Answer):  # UserView
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    disabled: bool
    """Whether the user is disabled. A disabled user cannot sign in."""
    email: str
    """The email address with which the user signs in, in lower case. It is unique within the instance."""
    id: str
    """The ID of the user, which begins with usr_."""
    last_login_at: datetime | None
    """The time of the last sign-in. It is None if there was none."""
    name: str | None
    """The display name of the user. It is None if there is none."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    role: str
    """The role of the user, which sets the scopes."""
    workspace_id: str
    """The ID of the workspace that the user belongs to."""


class UserPage(Answer):  # ListUsersAnswer
    items: list[User]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class Verification(Answer):  # VerificationView
    code: str
    """The result: VALID, or the reason why the key was refused."""
    key_id: str | None
    """The ID of the key. It is None if code is INVALID."""
    metadata: dict[str, int | str | float | bool] | None
    """The metadata of the key. It is None if code is INVALID."""
    name: str | None
    """The display name of the key. It is None if code is INVALID."""
    quota: Budgets | None
    """The quotas of the key or of the workspace, whichever have less left. It is None if the key cannot be used."""
    rate_limit: Budget | None
    """The rate limit of the key or of the workspace, whichever has less left. It is None if the key cannot be used."""
    scopes: list[str]
    """The scopes of the key. The list is empty if code is INVALID."""
    valid: bool
    """Whether the key can be used for this request. It is True only if code is VALID."""
    workspace_id: str | None
    """The ID of the key's workspace. It is None if code is INVALID."""


class Version(Answer):  # VersionView
    announced_at: datetime | None
    """The time at which the end of the version was announced. It is None until then."""
    migration_guide_url: str | None
    """The URL of the guide from this version to the next. It is None until the end of the version is announced."""
    replacement_version: str | None
    """The oldest later version that is still available. It is None if there is none, and until the end of the version is announced."""
    since: datetime
    """The time at which the version was released."""
    state: str
    """The state of the version. A deprecated version still works, a sunset one is refused with 410, and a retired one no longer exists."""
    sunset_at: datetime | None
    """The time from which requests are refused with 410. It is None until the end of the version is announced."""
    version: str
    """The number of the version, as in paths and in X-API-Version."""


class VersionCaller(Answer):  # VersionCallerView
    client: str | None
    """The first product in User-Agent. It is None if there is none. If a caller uses very many clients, the later ones are counted as other."""
    key_id: str | None
    """The ID of the API key. It is None for a signed-in user."""
    last_at: datetime
    """The time of the last request, to the second."""
    method: str | None
    """The HTTP method. It is None for paths that do not exist."""
    route: str | None
    """The path template. It is None for paths that do not exist."""
    user_id: str | None
    """The ID of the signed-in user. It is None for an API key."""
    workspace_id: str
    """The ID of the caller's workspace."""


class VersionCallerPage(Answer):  # ListVersionCallersAnswer
    items: list[VersionCaller]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class VersionCheck(Answer):  # CheckView
    checked_at: datetime
    """The time at which the check ran."""
    new_sunset_at: datetime
    """The time of the sunset after the check."""
    sunset_at: datetime
    """The time of the sunset before the check."""
    thresholds: Thresholds
    """The settings at the time of the check."""
    traffic: VersionTraffic | None
    """The traffic that was counted. It is None unless the caller is an operator."""
    verdict: str
    """The sunset was kept, extended by three months because significant traffic remained, or postponed because the check was missed."""


class VersionPage(Answer):  # ListVersionsAnswer
    items: list[Version]
    """The versions of the API, oldest first."""


class VersionRecord(Answer):  # VersionRecord
    announced_at: datetime | None
    """The time at which the end of the version was announced. It is None until then."""
    checks: list[VersionCheck]
    """The traffic checks that have run, by time."""
    migration_guide_url: str | None
    """The URL of the guide from this version to the next. It is None until the end of the version is announced."""
    rehearsals: list[Rehearsal]
    """The API keys that see the version as if it were sunset. Only operators see keys of other workspaces."""
    replacement_version: str | None
    """The oldest later version that is still available. It is None if there is none, and until the end of the version is announced."""
    retires_at: datetime | None
    """The time from which the version's paths no longer exist. It is None until the end of the version is announced."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    since: datetime
    """The time at which the version was released."""
    state: str
    """The state of the version. A deprecated version still works, a sunset one is refused with 410, and a retired one no longer exists."""
    sunset_at: datetime | None
    """The time from which requests are refused with 410. It is None until the end of the version is announced."""
    traffic_check_at: datetime | None
    """The time of the next traffic check, thirty days before the sunset. It is None if there will be none."""
    version: str
    """The number of the version, as in paths and in X-API-Version."""


class VersionRecordPage(Answer):  # ListVersionRecordsAnswer
    items: list[VersionRecord]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class VersionSunsetBody(Answer):  # VersionSunsetBody
    details: ErrorDetails | None = None
    """The field is always absent from this error."""
    error: str
    """The machine-readable code of the error."""
    message: str
    """The message for people. Its wording can change."""
    migration_guide_url: str
    """The address of the guide from this version to the next."""
    replacement_version: str | None = None
    """The oldest later version that is still available, if there is one."""
    request_id: str
    """The ID of the request, as in X-Request-Id."""
    sunset_at: str
    """The time at which the version was sunset, in RFC 3339."""


class VersionTraffic(Answer):  # TrafficView
    active_keys: int
    """The API keys with a request to any version."""
    all_requests: int
    """The authenticated requests to all versions."""
    days: int
    """The number of days in which the service ran."""
    from_: datetime
    """The beginning of the first day."""
    keys: int
    """The API keys that used the version regularly."""
    requests: int
    """The authenticated requests to the version."""


class VersionUsage(Answer):  # GetVersionUsageAnswer
    items: list[VersionUse]
    """The versions with at least one request."""


class VersionUse(Answer):  # VersionUseView
    keys: int
    """The number of API keys with at least one request."""
    last_at: datetime
    """The time of the last request. With a filter, and for requests of long ago, it is the start of the minute, hour or day."""
    requests: int
    """The number of requests to the version, including refused ones."""
    version: str
    """The number of the version of the API."""


class Webhook(Answer):  # WebhookView
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the key or user that created the webhook, or local."""
    description: str
    """The description for people. It is empty if there is none."""
    disabled: bool
    """Whether the webhook is disabled, so that nothing is delivered."""
    disabled_at: datetime | None
    """The time at which the webhook was disabled. It is None if the webhook is not disabled."""
    disabled_reason: str | None
    """Why nothing is delivered: it was requested, nothing could be delivered for three days, the receiver answered 410, or too many deliveries waited. It is None if the webhook is not disabled."""
    events: list[str]
    """The types of the events that are delivered."""
    failing_since: datetime | None
    """The first failure after the last delivery that succeeded. It is None unless deliveries are failing."""
    id: str
    """The ID of the webhook, which begins with whk_."""
    last_success_at: datetime | None
    """The time of the last delivery that succeeded, to the minute. It is None if there was none."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    secrets: list[WebhookSecret]
    """The secrets that sign deliveries, newest first."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    url: str
    """The URL to which events are sent."""


class WebhookDeliveryPage(Answer):  # ListWebhookDeliveriesAnswer
    items: list[Delivery]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class WebhookPage(Answer):  # ListWebhooksAnswer
    items: list[Webhook]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class WebhookSecret(Answer):  # WebhookSecretView
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    hint: str
    """The first characters of the secret."""
    valid_until: datetime | None
    """The time at which the secret signs no more, because a newer one replaces it. It is None for the newest secret."""


class Whoami(Answer):  # WhoamiView
    agent_id: str | None
    """The ID of the agent that the key is bound to. It is None if the key is not bound to one."""
    allowed_ips: list[str]
    """The networks that the key can be used from, in CIDR notation. An empty list means any address."""
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    created_by: str
    """The ID of the user or key that created the key, or local."""
    expires_at: datetime | None
    """The time at which the key expires. It is None if the key does not expire."""
    hint: str
    """The first characters of the key, which help people to tell keys apart."""
    id: str
    """The ID of the key, which begins with key_. A rotation keeps it."""
    last_used_at: datetime | None
    """The time of the last request with any secret of the key. It is None if there was none."""
    metadata: dict[str, int | str | float | bool]
    """The metadata that was stored with the key: strings, numbers or booleans by name."""
    name: str
    """The display name of the key."""
    quota: Quota | None
    """The key's own quotas. It is None if only the workspace's quotas apply."""
    rate_limit: RateLimit
    """The limit of the key per minute, which applies in addition to the workspace's."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    revoke_reason: str | None
    """The reason that was given for the revocation. It is None if there was none."""
    revoked_at: datetime | None
    """The time at which the key was revoked. It is None if the key is not revoked."""
    scopes: list[str]
    """The scopes of the key, which say what requests with it can do."""
    secrets: list[Secret]
    """The secrets of the key, newest first. A key that is being rotated has two."""
    state: str
    """The state of the key. While it is rotating, two secrets work. Only active and rotating keys are accepted."""
    subject_id: str | None
    """The ID of the subject that the key is bound to. It is None if the key is not bound to one."""
    updated_at: datetime
    """The time of the last change, or of creation if there was none."""
    workspace: Workspace
    """The workspace that the key belongs to."""


class Workspace(Answer):  # WorkspaceView
    id: str
    """The ID of the workspace."""
    name: str
    """The display name of the workspace."""
    operator: bool
    """Whether this is the operator workspace, whose admins administer the whole instance."""
    tier: str
    """The name of the workspace's tier, which sets its limits."""


class WorkspaceLimits(Answer):  # WorkspaceLimit
    quota: Budgets
    """The quotas of the workspace, and what is left of them."""
    rate_limit: Budget
    """The limit of the workspace per minute, and what is left of it."""
    tier: str
    """The name of the workspace's tier."""


class WorkspacePage(Answer):  # ListWorkspacesAnswer
    items: list[WorkspaceRecord]
    """The items of this page, at most limit. The list is empty if there are none."""
    next_cursor: str | None
    """The value of the parameter cursor for the next page. It is None on the last page."""


class WorkspaceRecord(Answer):  # WorkspaceRecord
    created_at: datetime
    """The time of creation. Later changes do not move it."""
    embeddings: bool
    """Whether texts of memories, and of questions about them, are sent to the embeddings endpoint."""
    id: str
    """The ID of the workspace, which begins with wsp_."""
    name: str
    """The display name of the workspace."""
    operator: bool
    """Whether this is the operator workspace, which was created at the first start. Its admins administer the whole instance."""
    revision: int
    """The number of the revision, which grows with every change. ETag and If-Match have it in quotes."""
    search_engine: str
    """The place of the search index, or the one to which it is moved: local or opensearch."""
    search_move: SearchMove | None
    """The move of the search index; None: none is going on."""
    suspended: bool
    """Whether the workspace is suspended, so that all requests with its credentials are refused."""
    tier: str
    """The name of the workspace's tier, which sets its limits."""
