"""The errors of the client."""

from __future__ import annotations

from datetime import datetime
from typing import Any


class KeepsakeError(Exception):
    """Every error of this package."""


class APIError(KeepsakeError):
    """The server refused a request.

    Attributes:
        status: Of HTTP.
        code: For programs: validation_error, rate_limit_exceeded, and so on.
        message: For people. Its wording can change.
        request_id: Identifies the request in the server's log.
        field: The invalid field or parameter, such as rateLimit.requestsPerMinute. None if there is none.
        issue: What is wrong with the field: required, too_long, and so on.
        required_scope: The scope that the credential lacks.
        limit: The limit that was reached: keys, documents, and so on.
        policy: The rate limit or quota that was exceeded: tier_minute, daily_quota, and so on.
        retry_after: How many seconds the server asks to wait. None if it asks for nothing.
        retry_at: When that time ends, by the clock of this machine.
        replacement_version: Of a version of the API that has ended: its replacement.
        migration_guide_url: Of a version of the API that has ended.
        attempts: How often the call was sent. If it is more than 1, an earlier attempt, whose answer was lost, can have had the
            effect: then a DELETE finds nothing, and a change of a revision finds the next one.
    """

    def __init__(
        self, status: int, body: dict[str, Any], *, retry_after: float | None = None, replacement: str | None = None
    ) -> None:
        details = body.get("details")
        details = details if isinstance(details, dict) else {}
        self.status = status
        self.code: str = str(body.get("error", ""))
        self.message: str = str(body.get("message", ""))
        self.request_id: str | None = body.get("requestId")
        self.field: str | None = details.get("field")
        self.issue: str | None = details.get("issue")
        self.required_scope: str | None = details.get("requiredScope")
        self.limit: str | None = details.get("limit")
        self.policy: str | None = details.get("policy")
        self.retry_after = retry_after
        self.retry_at: datetime | None = None
        self.replacement_version: str | None = body.get("replacementVersion") or replacement
        self.migration_guide_url: str | None = body.get("migrationGuideUrl")
        self.attempts = 1
        super().__init__(self.message)

    def __str__(self) -> str:
        text = self.message
        if self.field:
            text += f" ({self.field}: {self.issue})"
        if self.issue == "unknown":
            text += " The server is older than this client, or the name is wrong."
        if self.status == 429 and self.retry_after is not None:
            text += f" Try again in {self.retry_after:.0f} s."
        return f"{text} [{self.status} {self.code}, request {self.request_id}]"


class BadRequestError(APIError):
    """400, 413, 415: the request is invalid. `field` and `issue` say what is wrong."""


class AuthenticationError(APIError):
    """401: there is no credential, or it is not valid."""


class PermissionDeniedError(APIError):
    """403: the credential does not allow the request."""


class NotFoundError(APIError):
    """404: there is nothing with this ID that the credential can see."""


class ConflictError(APIError):
    """409: the request does not fit the state, such as an ID that exists already."""


class RevisionMismatchError(APIError):
    """412: the revision is not `if_revision`, or what was to be created exists."""


class VersionEndedError(APIError):
    """410: the version of the API has ended. `replacement_version` and `migration_guide_url` say what is next."""


class RateLimitError(APIError):
    """429: a limit or quota is used up. `policy` says which one, and `retry_after` how many seconds to wait."""


class ServerError(APIError):
    """500 and above: the server failed, or cannot answer for now."""


class UnexpectedAnswerError(KeepsakeError):
    """The answer is not one of Keepsake: a page of a proxy, or the address is another server's."""

    def __init__(self, message: str, status: int, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class ConnectionFailedError(KeepsakeError):
    """There is no complete answer: no connection, or it broke.

    Attributes:
        sent: False if the request was certainly not performed, because there was no connection to send it on.
        temporary: Whether another attempt can succeed. An unknown host or a wrong certificate stays.
    """

    def __init__(self, message: str, *, sent: bool = True, temporary: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
        self.temporary = temporary


class TimedOutError(ConnectionFailedError):
    """The server did not answer in time. `timeout` of the client sets the time."""


class RedirectError(KeepsakeError):
    """The server redirects to another origin. Nothing was sent there, because that would send the key there."""


class ImportInterruptedError(KeepsakeError):
    """An import ended early. Its cause is `__cause__`.

    Attributes:
        line: The first line that was not sent, from 1.
        result: The result of the lines before it: an Import or a MemoryImport.
    """

    def __init__(self, line: int, result: Any, cause: BaseException) -> None:
        super().__init__(f"the lines before line {line} were sent, and the rest was not: {cause}")
        self.line = line
        self.result = result


class LineTooLongError(KeepsakeError):
    """A line of an import is longer than the server accepts: the source is probably not one JSON object per line."""


class ImportTooLargeError(KeepsakeError):
    """The source of an import that replaces a collection does not fit into one request, which it must."""


class InvalidSignatureError(KeepsakeError):
    """A webhook delivery or a receipt is not signed as it must be."""


class DeprecatedVersionWarning(DeprecationWarning):
    """The version of the API that this client uses will end."""


_CLASSES: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: VersionEndedError,
    412: RevisionMismatchError,
    413: BadRequestError,
    415: BadRequestError,
    429: RateLimitError,
}


def error_class(status: int) -> type[APIError]:
    """Returns the class of an error with a status."""
    return _CLASSES.get(status, ServerError if status >= 500 else APIError)
