"""The names that Python users see. The generator reads them; openapi/v1.json contains everything else.

A new operation gets a method by the rules of methods_of, or a line in METHODS. A new schema gets a name by the rules of
model_name, or a line in MODELS.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Method:
    """A method for an operation."""

    group: str  # the attribute of the client that has the method; empty: the client itself
    name: str
    kind: Literal["call", "list", "import", "export"] = "call"
    each: str = ""  # the iterator over all pages, beside a list
    positional: tuple[str, ...] = ()  # members of the body that are given by position
    safe: str = ""  # condition, in Python, under which a POST without a key can be repeated
    once: bool = False  # a lost response must not be followed by a second attempt
    within: float | None = None  # seconds in which a retry has no second effect
    unwrap: str = ""  # the only member of the answer, which the method returns instead of it
    leave_out: tuple[str, ...] = ()  # members of the body and parameters that the method does not have
    fixed: dict[str, str] = field(default_factory=dict)  # members of the body with a fixed value, in Python
    answer: str = ""  # the class of the answer, if it is not that of the schema
    doc: str = ""  # replaces the summary and the description
    surface: Literal["", "ai", "backend"] = ""


def plural(noun: str) -> str:
    """Returns the plural of a noun of the API."""
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def methods_of(operation: str) -> list[Method]:
    """Returns the methods for an operation: listCollections is collections.list, with the iterator collections.each.

    The list is empty if the ID of the operation says too little. Then it needs a line in METHODS.
    """
    if operation in METHODS:
        return METHODS[operation]
    if match := re.fullmatch(r"list([A-Z]\w+s)", operation):
        return [Method(snake(match[1]), "list", "list", each="each")]
    if match := re.fullmatch(r"(get|create|change|put|delete)([A-Z]\w+)", operation):
        verb = {"change": "update"}.get(match[1], match[1])
        return [Method(plural(snake(match[2])), verb)]
    return []


USAGE = ("format",)

METHODS: dict[str, list[Method]] = {
    # api keys
    "listAPIKeys": [Method("api_keys", "list", "list", each="each")],
    "createAPIKey": [Method("api_keys", "create")],
    "getAPIKey": [Method("api_keys", "get")],
    "changeAPIKey": [Method("api_keys", "update")],
    "deleteAPIKey": [Method("api_keys", "delete")],
    "rotateAPIKey": [Method("api_keys", "rotate")],
    "completeAPIKeyRotation": [Method("api_keys", "complete_rotation")],
    "revokeAPIKey": [Method("api_keys", "revoke")],
    "getAPIKeyUsage": [Method("api_keys", "usage")],
    "getAPIKeyLimits": [Method("api_keys", "limits")],
    "verifyAPIKey": [Method("api_keys", "verify", positional=("key",), safe="consume is False")],
    "whoami": [Method("", "whoami")],
    # documents and search
    "listDocuments": [Method("documents", "list", "list", each="each")],
    "createDocument": [Method("documents", "create")],
    "putDocument": [Method("documents", "put")],
    "getDocument": [Method("documents", "get")],
    "changeDocument": [Method("documents", "update")],
    "deleteDocument": [Method("documents", "delete")],
    "deleteDocuments": [Method("documents", "delete_many", safe="dry_run is True")],
    "importDocuments": [Method("documents", "import_", "import")],
    "exportDocuments": [Method("documents", "export", "export")],
    "searchPost": [Method("", "search", "list", each="each_result", positional=("q",), safe="True")],
    "searchMulti": [Method("", "search_many", positional=("searches",), safe="True", unwrap="results")],
    # settings of search
    "listCollections": [Method("collections", "list", "list", each="each")],
    "getCollection": [Method("collections", "get")],
    "putCollection": [Method("collections", "put")],
    "deleteCollection": [Method("collections", "delete")],
    "listLanguages": [Method("languages", "list", "list", each="each")],
    # memories
    "listMemories": [Method("memories", "list", "list", each="each")],
    "createMemory": [Method("memories", "create", positional=("text",))],
    "createMemories": [Method("memories", "create_many", positional=("items",), unwrap="results")],
    "getMemory": [Method("memories", "get")],
    "changeMemory": [Method("memories", "update")],
    "deleteMemory": [Method("memories", "delete")],
    "getMemoryHistory": [Method("memories", "history", "list", each="each_revision")],
    "recall": [Method("memories", "recall", positional=("query",), safe="True")],
    "recallContext": [Method("memories", "context", positional=("query",), safe="True")],
    "forgetMemories": [
        Method(
            "memories",
            "plan_forget",
            safe="True",
            leave_out=("dryRun", "planId", "Idempotency-Key"),
            doc="Plan what to forget. Nothing is erased. Give the `plan_id` of the answer to `forget`.",
        ),
        Method(
            "memories",
            "forget",
            positional=("planId",),
            leave_out=("ids", "filter", "query"),
            fixed={"dryRun": "False"},
            answer="Forgotten",
            unwrap="forgotten",
            doc="Erase exactly what a plan lists, and return the number of memories. A plan can be used once.",
        ),
    ],
    "importMemories": [Method("memories", "import_", "import")],
    "listSubjects": [Method("subjects", "list", "list", each="each")],
    "getSubject": [Method("subjects", "get")],
    "eraseSubject": [Method("subjects", "erase", once=True)],
    "exportSubject": [Method("subjects", "export", "export")],
    "listSubjectAccesses": [Method("subjects", "access_log", "list", each="each_access")],
    # login
    "login": [Method("auth", "login", positional=("email", "password"))],
    "refreshToken": [Method("auth", "refresh", positional=("refreshToken",), safe="True", within=8)],
    "logout": [Method("auth", "logout", safe="True")],
    "changePassword": [Method("auth", "change_password")],
    "getSigningKeys": [Method("auth", "signing_keys", unwrap="keys")],
    "rotateSigningKey": [Method("auth", "rotate_signing_key")],
    "getProfile": [Method("profile", "get")],
    "changeProfile": [Method("profile", "update")],
    # administration
    "listUsers": [Method("users", "list", "list", each="each")],
    "createUser": [Method("users", "create")],
    "getUser": [Method("users", "get")],
    "changeUser": [Method("users", "update")],
    "deleteUser": [Method("users", "delete")],
    "createSetupLink": [Method("users", "create_setup_link")],
    "listWorkspaces": [Method("workspaces", "list", "list", each="each")],
    "createWorkspace": [Method("workspaces", "create")],
    "getWorkspace": [Method("workspaces", "get")],
    "changeWorkspace": [Method("workspaces", "update")],
    "listTiers": [Method("tiers", "list", "list", each="each")],
    "changeTier": [Method("tiers", "put")],
    "listAuditLog": [
        Method("audit_log", "list", "list", each="each"),
        Method("audit_log", "export", "export", leave_out=("limit", "cursor")),
    ],
    "verifyAuditLog": [Method("audit_log", "verify")],
    "cacheStats": [Method("", "cache_stats")],
    "health": [Method("", "health")],
    # webhooks
    "listWebhooks": [Method("webhooks", "list", "list", each="each")],
    "createWebhook": [Method("webhooks", "create")],
    "getWebhook": [Method("webhooks", "get")],
    "changeWebhook": [Method("webhooks", "update")],
    "deleteWebhook": [Method("webhooks", "delete")],
    "rotateWebhookSecret": [Method("webhooks", "rotate_secret")],
    "pingWebhook": [Method("webhooks", "ping")],
    "listWebhookDeliveries": [Method("webhooks", "list_deliveries", "list", each="each_delivery")],
    "getWebhookDelivery": [Method("webhooks", "get_delivery")],
    "replayWebhookDelivery": [Method("webhooks", "replay_delivery")],
    # versions
    "listVersions": [Method("versions", "list", unwrap="items")],
    "listVersionRecords": [Method("versions", "list_records", "list", each="each_record")],
    "getVersionRecord": [Method("versions", "get_record")],
    "releaseVersion": [Method("versions", "release")],
    "changeVersion": [Method("versions", "update")],
    "rehearseSunset": [Method("versions", "rehearse_sunset")],
    "retireVersion": [Method("versions", "retire")],
    "listVersionCallers": [Method("versions", "list_callers", "list", each="each_caller")],
    # analytics
    "getUsageSummary": [Method("analytics", "summary", leave_out=USAGE)],
    "getUsageSeries": [Method("analytics", "series", leave_out=USAGE)],
    "getTopUsage": [Method("analytics", "top", leave_out=USAGE, unwrap="items")],
    "getQuotaUsage": [Method("analytics", "quotas", leave_out=USAGE)],
    "getVersionUsage": [Method("analytics", "versions", leave_out=USAGE, unwrap="items")],
    "listErrors": [Method("analytics", "errors", leave_out=USAGE, unwrap="items")],
    "listRequests": [Method("analytics", "requests", "list", each="each_request", leave_out=USAGE)],
    # the other surfaces
    "aiCreateMemory": [Method("", "remember", positional=("text",), surface="ai")],
    "aiRecall": [Method("", "recall", positional=("query",), safe="True", surface="ai")],
    "aiRecallContext": [Method("", "context", positional=("query",), safe="True", surface="ai")],
    "backendVerifyAPIKey": [Method("", "verify_api_key", positional=("key",), safe="consume is False", surface="backend")],
    "backendReportUsage": [Method("", "report_usage", positional=("items",), safe="True", surface="backend")],
}

# Operations without a method, with the reason. clients/library_test.go has the same list.
UNCALLED = {
    "search": "searchPost sends the query in a body, so that no proxy logs it",
    "aiCallTools": "clients of the Model Context Protocol call it",
    "aiGetToolsMetadata": "clients of the Model Context Protocol call it",
    "backendForwardAuth": "proxies call it",
    "backendLivez": "orchestrators call it",
    "backendReadyz": "load balancers call it",
    "backendMetrics": "Prometheus calls it",
}

# What the groups are, for the reference.
GROUPS = {
    "": "The client itself",
    "api_keys": "API keys",
    "documents": "Documents",
    "collections": "Settings of the collections of documents",
    "languages": "Languages that search knows",
    "memories": "Memories",
    "subjects": "Subjects, the people whom memories are about",
    "auth": "Login, tokens and signing keys",
    "profile": "The profile of the signed-in user",
    "users": "Users",
    "workspaces": "Workspaces",
    "tiers": "Tiers",
    "audit_log": "The audit log",
    "webhooks": "Webhooks",
    "versions": "Versions of the API",
    "analytics": "Usage",
}

# Schemas whose name does not follow from model_name.
MODELS = {
    "ApiKeyView": "APIKey",
    "AccessView": "AccessEntry",
    "AttemptView": "DeliveryAttempt",
    "AuditChainView": "AuditLink",
    "AuditHeadView": "AuditChain",
    "BudgetPair": "Budgets",
    "CacheStatsAnswer": "CacheStats",
    "CheckView": "VersionCheck",
    "CreateMemoriesAnswer": "BatchResults",
    "CreateSetupLinkAnswer": "SetupLink",
    "DeleteDocumentsAnswer": "DeletedDocuments",
    "EmbeddingsView": "EmbeddingState",
    "GetMemoryHistoryAnswer": "MemoryRevisionPage",
    "GetQuotaUsageAnswer": "QuotaUsage",
    "GetSigningKeysAnswer": "SigningKeys",
    "GetTopUsageAnswer": "TopUsage",
    "GetUsageSeriesAnswer": "UsageSeries",
    "GetUsageSummaryAnswer": "UsageSummary",
    "GetVersionUsageAnswer": "VersionUsage",
    "GrantView": "Tokens",
    "GroupView": "UsageGroup",
    "ImportDocumentsAnswer": "Import",
    "ImportMemoriesAnswer": "MemoryImport",
    "ItemError": "BatchError",
    "ItemErrorDetails": "BatchErrorDetails",
    "JwkView": "SigningKey",
    "LimitsView": "APIKeyLimits",
    "LineError": "ImportLineError",
    "LineIssue": "ImportIssue",
    "ListAPIKeysAnswer": "APIKeyPage",
    "ListErrorsAnswer": "ErrorCounts",
    "ListSubjectAccessesAnswer": "AccessPage",
    "MemoryResult": "BatchResult",
    "PartView": "SystemPart",
    "PointView": "SeriesPoint",
    "PortableView": "PortableMemory",
    "QuotaPart": "NewQuota",
    "RankedView": "RankedUsage",
    "RateLimitPart": "NewRateLimit",
    "RecallAnswer": "Recalled",
    "RecallContextAnswer": "PackedContext",
    "RehearseSunsetAnswer": "StartedRehearsal",
    "ReportItem": "ServedRequests",
    "ReportUsageAnswer": "UsageReceipt",
    "RequestView": "LoggedRequest",
    "RotateSigningKeyAnswer": "RotatedSigningKey",
    "SearchMultiAnswer": "ManyFound",
    "SearchHighlight": "Highlight",
    "SearchParameters": "Query",
    "SearchView": "Found",
    "SeriesView": "GroupSeries",
    "TrafficView": "VersionTraffic",
    "UsageView": "APIKeyUsage",
    "VerifyAuditLogAnswer": "AuditVerified",
    "VersionUseView": "VersionUse",
    "WorkspaceLimit": "WorkspaceLimits",
}


# Schemas that are two types in Python, each with the members that its answers always have.
SPLIT = {
    "ForgetMemoriesAnswer": {"ForgetPlan": ("memoryIds", "planId", "expiresAt"), "Forgotten": ("forgotten",)},
}

# Parameters of paths whose names say little.
PARAMETERS = {"n": "number"}


def model_name(schema: str) -> str:
    """Returns the name of the class for a schema: DocumentView is Document, ListDocumentsAnswer is DocumentPage."""
    if schema in SPLIT:
        return next(iter(SPLIT[schema]))
    if schema in MODELS:
        return MODELS[schema]
    if match := re.fullmatch(r"List(\w+)Answer", schema):
        plural = match[1]
        singular = plural[:-3] + "y" if plural.endswith("ies") else plural.removesuffix("s")
        return singular + "Page"
    return re.sub(r"(View|Answer)$", "", schema)


def snake(name: str) -> str:
    """Returns the Python name of a member of JSON: subjectId is subject_id, from is from_."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    return words + "_" if keyword.iskeyword(words) else words
