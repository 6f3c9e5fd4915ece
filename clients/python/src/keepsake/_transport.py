# Written by clients/python/tools/generate.py from the module for asyncio. Run `make clients` instead of changing it.

"""Sends requests and waits for their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import BinaryIO, TypeAlias, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from keepsake._answer import unreadable
from keepsake._core import Core
from keepsake._errors import ImportInterruptedError, KeepsakeError, UnexpectedAnswerError
from keepsake._lines import ImportSource, add, empty, import_request, parts
from keepsake._model import read
from keepsake._request import Request
from keepsake._retry import Attempts
from keepsake.models import Import, MemoryImport

__all__ = ["Group", "ImportSource", "Transport"]

T = TypeVar("T", bound=BaseModel)
I = TypeVar("I", Import, MemoryImport)  # noqa: E741
Progress: TypeAlias = Callable[[int], None]


class Transport:
    """Sends requests with the settings of a client."""

    def __init__(self, core: Core, http: httpx.Client, sleep: Callable[[float], None] = time.sleep) -> None:
        self.core = core
        self.http = http
        self.sleep = sleep

    def send(self, request: Request, model: type[T]) -> T:
        """Returns the answer of a call."""
        response = self._call(request)
        return self.core.decode(request, response.status_code, response.headers, response.content, model)

    def run(self, request: Request) -> None:
        """Makes a call whose answer has no content."""
        self._call(request)

    def text(self, request: Request) -> str:
        """Returns the answer of a call that is no JSON."""
        return (self._call(request)).text

    def items(self, request: Request, model: type[T], progress: Progress | None) -> Iterator[T]:
        """Returns the lines of an answer. What is read before an error is complete."""
        adapter = TypeAdapter(model)
        with closing(self._lines(request, progress)) as lines:
            for line in lines:
                try:
                    yield read(adapter, line)
                except ValidationError as e:
                    what = f"{request.method} {self.core.shown}{request.path}"
                    raise UnexpectedAnswerError(unreadable(what, e), 200) from None

    def save(self, request: Request, file: BinaryIO, progress: Progress | None) -> int:
        """Writes the lines of an answer to a file. It returns their bytes."""
        size = 0
        with closing(self._lines(request, progress)) as lines:
            for line in lines:
                size += file.write(line)
        return size

    def import_lines(
        self, request: Request, source: ImportSource, model: type[I], progress: Progress | None, key: str | None
    ) -> I:
        """Sends lines in parts. It returns the results of all parts together."""
        total = empty(model)
        done = 0
        for part in parts(request, source):
            try:
                add(total, self.send(import_request(request, part, key), model), part.first_line)
            except KeepsakeError as e:
                if part.first_line == 1:
                    raise
                raise ImportInterruptedError(part.first_line, total, e) from e
            done += len(part.data)
            if progress:
                progress(done)
        return total

    def _lines(self, request: Request, progress: Progress | None) -> Generator[bytes, None, None]:
        response = self._call(replace(request, accept="application/x-ndjson"), stream=True)
        size, count, rest = 0, 0, b""
        try:
            for chunk in response.iter_bytes():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    count += 1
                    yield line + b"\n"
                size += len(chunk)
                if progress:
                    progress(size)
        except httpx.RequestError as e:
            raise self.core.failure(request, e, f" after {count} lines") from e
        finally:
            response.close()
        if rest:
            raise self.core.failure(request, httpx.ReadError("the last line is not whole"), f" after {count} lines")

    def _call(self, request: Request, stream: bool = False) -> httpx.Response:
        key = request.call_key()
        attempts = Attempts(self.core.retry, request)
        while True:
            try:
                return self._try(request, key, stream)
            except KeepsakeError as e:
                wait = attempts.next(e)
                if wait is None:
                    raise
            self.sleep(wait)

    def _try(self, request: Request, key: str | None, stream: bool) -> httpx.Response:
        headers, content = self.core.headers(request, key), request.encoded()
        url: str | None = self.core.base + request.target()
        for followed in range(1000):
            assert url is not None
            sent = self.http.build_request(request.method, url, headers=headers, content=content, timeout=self.core.timeout)
            try:
                response = self.http.send(sent, stream=stream, follow_redirects=False)
                if stream and response.status_code != 200:
                    response.read()
            except httpx.RequestError as e:
                raise self.core.failure(request, e) from e
            self.core.notice(response.headers)
            if response.is_success:
                return response
            here, url = url, None
            url = self.core.redirected(request, here, response.status_code, response.headers, followed)
            if url is None:
                raise self.core.error(request, response.status_code, response.headers, response.content)
        raise AssertionError("redirects are limited")


class Group:
    """Methods of a client."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
