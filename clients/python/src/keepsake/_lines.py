"""Imports: splits a source into parts of whole lines, and adds up their results."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel

from keepsake._errors import ImportTooLargeError, LineTooLongError
from keepsake._request import Key, Request, plain
from keepsake.models import Import, ImportIssue, MemoryImport

PART_BYTES = 4 << 20
PART_LINES = 5_000
LARGEST_BODY = 64 << 20
KEPT_ERRORS = 100
COUNTS = {"received", "created", "replaced", "failed", "unchanged", "deleted"}

LONGEST = {"importDocuments": 4 << 20, "importMemories": 33 << 20}
"""The longest lines that the server accepts, in bytes, by operation."""


@runtime_checkable
class File(Protocol):
    """An open file, of bytes or of text."""

    def read(self) -> str | bytes: ...

    def readline(self, limit: int = -1, /) -> str | bytes: ...


Line: TypeAlias = str | bytes | Mapping[str, Any] | BaseModel
ImportSource: TypeAlias = bytes | File | Iterable[Line]
AsyncImportSource: TypeAlias = ImportSource | AsyncIterable[Line]

I = TypeVar("I", Import, MemoryImport)  # noqa: E741


@dataclass(frozen=True)
class Part:
    """Whole lines of an import. first_line counts from 1."""

    data: bytes
    first_line: int

    @property
    def named(self) -> bool:
        """Whether every line has an ID, so that sending the part twice stores nothing twice."""
        for line in self.data.splitlines():
            if not line.strip():
                continue
            try:
                item = json.loads(line)
            except ValueError:
                return False
            if not isinstance(item, dict) or item.get("id") in (None, ""):
                return False
        return True


class Splitter:
    """Collects lines into the parts of an import."""

    def __init__(self, request: Request) -> None:
        self._longest = LONGEST[request.operation]
        self._whole = request.query.get("replace") is True
        self._lines: list[bytes] = []
        self._bytes = 0
        self._read = 0

    def _full(self, more: int) -> bool:
        """Reports whether the next line, of so many bytes, belongs to the next part."""
        if self._whole and self._bytes + more > LARGEST_BODY:
            raise ImportTooLargeError(
                "the source takes more than 64 MiB, and an import that replaces a collection is one request"
            )
        return not self._whole and (len(self._lines) == PART_LINES or self._bytes + more > PART_BYTES)

    def add(self, line: Line) -> Part | None:
        """Adds a line. It returns the part before it, if that is full."""
        data = encode(line)
        if len(data) > self._longest:
            raise LineTooLongError(f"line {self._read + 1} is longer than any may be: is the source one JSON object per line?")
        full = None
        if self._lines and self._full(len(data)):
            full = self.end()
        self._lines.append(data)
        self._bytes += len(data)
        self._read += 1
        return full

    def end(self) -> Part | None:
        """Returns the lines that are left."""
        if not self._lines:
            return None
        part = Part(b"".join(self._lines), self._read - len(self._lines) + 1)
        self._lines, self._bytes = [], 0
        return part


def raw(text: str | bytes) -> bytes:
    """Returns a text as bytes."""
    return text.encode() if isinstance(text, str) else text


def encode(line: Line) -> bytes:
    """Returns a line with its line break."""
    if isinstance(line, (str, bytes)):
        line = raw(line)
    else:
        if not isinstance(line, (Mapping, BaseModel)):
            raise TypeError(f"a line of an import is a text, a dictionary or a model, not {type(line).__name__}")
        line = json.dumps(plain(line), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return line if line.endswith(b"\n") else line + b"\n"


def lines(source: ImportSource, longest: int) -> Iterator[Line]:
    """Returns the lines of a source. The elements of a JSON array count as lines."""
    if isinstance(source, bytes):
        source = io.BytesIO(source)
    if isinstance(source, (str, Mapping, BaseModel)):
        raise TypeError("the source of an import is an open file, bytes, or an iterable of lines")
    if not isinstance(source, File):
        yield from source
        return
    first = source.readline(longest + 1)
    head = raw(first).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"["):
        yield from json.loads(head + raw(source.read()))
        return
    while first:
        yield first
        first = source.readline(longest + 1)


def add(total: I, part: I, first_line: int) -> None:
    """Adds the result of a part whose first line is first_line."""
    for name in COUNTS & type(total).model_fields.keys():
        setattr(total, name, getattr(total, name) + getattr(part, name))
    for refused in part.errors[: KEPT_ERRORS - len(total.errors)]:
        total.errors.append(refused.model_copy(update={"line": refused.line + first_line - 1}))
    counts = {(i.field, i.issue): i.count for i in total.issues}
    for issue in part.issues:
        counts[issue.field, issue.issue] = counts.get((issue.field, issue.issue), 0) + issue.count
    total.issues = [
        ImportIssue(field=field, issue=issue, count=count)
        for (field, issue), count in sorted(counts.items(), key=lambda item: -item[1])
    ]


def parts(request: Request, source: ImportSource) -> Iterator[Part]:
    """Returns the parts of a source."""
    splitter = Splitter(request)
    for line in lines(source, LONGEST[request.operation]):
        if part := splitter.add(line):
            yield part
    if part := splitter.end():
        yield part


async def aparts(request: Request, source: AsyncImportSource) -> AsyncIterator[Part]:
    """Returns the parts of a source, which can be asynchronous."""
    if not isinstance(source, AsyncIterable):
        for part in parts(request, source):
            yield part
        return
    splitter = Splitter(request)
    async for line in source:
        if full := splitter.add(line):
            yield full
    if rest := splitter.end():
        yield rest


def empty(model: type[I]) -> I:
    """Returns the result of an import without lines."""
    return model.model_validate({name: 0 for name in COUNTS & model.model_fields.keys()} | {"errors": [], "issues": []})


def import_request(request: Request, part: Part, key: str | None) -> Request:
    """Returns the request for a part.

    The server gives a document without an ID one that follows from its content. It gives a memory a new one, and accepts no key
    for lines without IDs, which a retry would store twice.
    """
    suffix = f"-{part.first_line}" if part.first_line > 1 else ""
    repeatable = request.operation == "importDocuments" or part.named
    return replace(
        request,
        content=part.data,
        content_type="application/x-ndjson",
        key=Key(key + suffix if key else None) if repeatable else None,
    )
