"""Reads answers: pure functions on what httpx received."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from keepsake._errors import DeprecatedVersionWarning, UnexpectedAnswerError, error_class
from keepsake._model import read
from keepsake._request import Request

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class KeyRateLimits:
    """The minute limit of the API key: requests in a minute, and how many are left."""

    limit: int
    remaining: int


@dataclass(frozen=True)
class RateLimits:
    """What an answer says about the limits of the caller.

    Attributes:
        limit: Requests per minute of the tier.
        remaining: Requests left in this minute, by the lowest limit that applies.
        reset_at: When this minute ends.
        daily_remaining: Requests left in the daily quota.
        monthly_remaining: Requests left in the monthly quota.
        key: The minute limit of the API key. None if the answer was not to a valid API key.
    """

    limit: int
    remaining: int
    reset_at: datetime
    daily_remaining: int
    monthly_remaining: int
    key: KeyRateLimits | None


def rate_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Returns the limits that headers report. None if they do not, as in the answer of a proxy."""
    try:
        of_key = (headers.get("X-RateLimit-Key-Limit"), headers.get("X-RateLimit-Key-Remaining"))
        return RateLimits(
            limit=int(headers["X-RateLimit-Limit"]),
            remaining=int(headers["X-RateLimit-Remaining"]),
            reset_at=datetime.fromtimestamp(int(headers["X-RateLimit-Reset"]), timezone.utc),
            daily_remaining=int(headers["X-RateLimit-Daily-Remaining"]),
            monthly_remaining=int(headers["X-RateLimit-Monthly-Remaining"]),
            key=KeyRateLimits(int(of_key[0]), int(of_key[1])) if of_key[0] and of_key[1] else None,
        )
    except (KeyError, ValueError, OverflowError, OSError):
        return None


def retry_after(value: str | None, now: float) -> float | None:
    """Returns the seconds that the header Retry-After asks to wait: it has seconds, or a date of HTTP."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def error(request: Request, shown: str, status: int, headers: Mapping[str, str], body: bytes, now: float) -> Exception:
    """Returns the error of an answer whose status is no success. shown is the address of the server without a password."""
    wait = retry_after(headers.get("Retry-After"), now)
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("error"), str):
        return UnexpectedAnswerError(foreign(request, shown, status, headers), status, wait)
    current = headers.get("X-API-Version") if content["error"] == "version_not_found" else None
    e = error_class(status)(status, content, retry_after=wait, replacement=current)
    if wait is not None:
        e.retry_at = datetime.fromtimestamp(now + wait, timezone.utc)
    return e


def foreign(request: Request, shown: str, status: int, headers: Mapping[str, str]) -> str:
    """Says that an answer is not Keepsake's. It repeats nothing of the body, which can be anything."""
    kind = (headers.get("Content-Type") or "no content type").split(";")[0].strip()
    text = f"{request.method} {shown}{request.path}: the answer, {status} with {kind}, is not one of Keepsake"
    if status in (502, 503, 504):
        return text + ": a proxy answered, because it could not reach the server"
    return text + ": another server or a proxy answered; check the address of the client"


@cache
def adapter(model: type[T]) -> TypeAdapter[T]:
    """Returns what reads a type."""
    return TypeAdapter(model)


def decode(request: Request, shown: str, status: int, headers: Mapping[str, str], body: bytes, model: type[T]) -> T:
    """Reads a successful answer."""
    if "json" not in headers.get("Content-Type", ""):
        raise UnexpectedAnswerError(foreign(request, shown, status, headers), status)
    try:
        found: T = read(adapter(model), body)
        return found
    except ValidationError as e:
        raise UnexpectedAnswerError(unreadable(f"{request.method} {shown}{request.path}", e), status) from None


def unreadable(what: str, e: ValidationError) -> str:
    """Says why an answer cannot be read, without its content."""
    problem: Any = e.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "json_invalid":
        return f"{what}: the answer is not whole JSON"
    return (
        f"{what}: the answer does not have the form that this client knows ({place}: {problem['type']}); is the server newer?"
    )


def warn_of_deprecation(headers: Mapping[str, str]) -> None:
    """Warns that the version of the API will end."""
    text = f"version {headers.get('X-API-Version', '1')} of the API is deprecated"
    if sunset := headers.get("Sunset"):
        text += f" and ends on {sunset}"
    if replacement := headers.get("X-API-Replacement-Version"):
        text += f"; version {replacement} replaces it"
    if guide := headers.get("Link"):
        text += f". Links: {guide}"
    warnings.warn(text, DeprecatedVersionWarning, stacklevel=outside())


def outside() -> int:
    """Returns the level of the first caller outside of this package, for warnings."""
    here = str(Path(__file__).parent)
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    return level
