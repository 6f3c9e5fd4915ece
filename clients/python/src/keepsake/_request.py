"""What a call sends, as a value."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import Any, Final, Literal, TypeAlias
from urllib import parse

from pydantic import BaseModel


class _Unset(Enum):
    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset.UNSET
"""The value of a parameter that a change leaves as it is. None removes the value."""

Unset: TypeAlias = Literal[_Unset.UNSET]

Metadata: TypeAlias = Mapping[str, str | int | float | bool | Sequence[str | int | float | bool] | None]


@dataclass(frozen=True)
class Key:
    """The Idempotency-Key of a POST: the caller's, or a random one."""

    text: str | None = None


NO_KEY: Final = None


@dataclass(frozen=True)
class Request:
    """A request, and when it can be repeated.

    Attributes:
        operation: The ID of the operation in openapi/v1.json.
        path: Below the address of the server, escaped.
        partial: The body is a change, in which None removes a value. Elsewhere None is left out.
        key: For a POST that accepts an Idempotency-Key.
        safe: A POST without a key that can be repeated.
        once: A DELETE that is not repeated if its answer is lost.
        within: Seconds in which a repetition has no second effect. None is forever.
        versioned: The path has no version, so a header names it.
    """

    operation: str
    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    partial: bool = False
    content: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    if_revision: int | None = None
    key: Key | None = None
    safe: bool = False
    once: bool = False
    within: float | None = None
    versioned: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether a second attempt has no second effect. Changes are merge patches, and the other methods are idempotent."""
        if self.method == "POST":
            return self.key is not None or self.safe
        return not self.once

    def target(self) -> str:
        """Returns the path with the query."""
        pairs = [(name, text(v)) for name, value in self.query.items() if value is not None for v in several(value)]
        return self.path + ("?" + parse.urlencode(pairs) if pairs else "")

    def encoded(self) -> bytes | None:
        """Returns the body as bytes, or None if there is none."""
        if self.body is None:
            return self.content
        members = {
            name: plain(value)
            for name, value in self.body.items()
            if value is not UNSET and (self.partial or value is not None)
        }
        return json.dumps(members, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def headers(self, key: str | None) -> dict[str, str]:
        """Returns the headers that do not depend on the client. key is the Idempotency-Key of the call."""
        found = {"Accept": self.accept}
        if self.body is not None or self.content is not None:
            found["Content-Type"] = self.content_type
        if self.if_revision is not None:
            found["If-Match"] = f'"{self.if_revision}"'
        if self.versioned:
            found["Accept-Version"] = "1"
        if key is not None:
            found["Idempotency-Key"] = key
        return found

    def call_key(self) -> str | None:
        """Returns the Idempotency-Key for all attempts of a call."""
        return None if self.key is None else self.key.text or uuid.uuid4().hex


def quote(segment: object) -> str:
    """Returns a segment of a path."""
    text = str(segment)
    if not text:
        raise ValueError("an ID must not be empty")
    if text in {".", ".."}:
        return text.replace(".", "%2E")
    return parse.quote(text, safe="")


def several(value: object) -> Sequence[object]:
    """Returns the values of a parameter of a query. A single string is one value."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return [value]
    return value


def text(value: object) -> str:
    """Returns a value of a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return moment(value) if isinstance(value, datetime) else str(value)


def moment(value: datetime) -> str:
    """Returns a time as RFC 3339."""
    if value.tzinfo is None:
        raise ValueError(f"the time {value.isoformat()} has no time zone: use datetime.now(timezone.utc), or set tzinfo")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def plain(value: Any) -> Any:
    """Returns a value as json.dumps takes it."""
    if isinstance(value, BaseModel):
        return {name: plain(v) for name, v in members(value).items()}
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Mapping):
        return {str(name): plain(v) for name, v in value.items()}
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return [plain(v) for v in value]


def members(model: BaseModel) -> dict[str, Any]:
    """Returns the fields of a model that are set, by their names in JSON."""
    return model.model_dump(by_alias=True, exclude_unset=True)
