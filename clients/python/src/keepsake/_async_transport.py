"""Sends requests and waits for their answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import BinaryIO, TypeAlias, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from keepsake._answer import unreadable
from keepsake._core import Core
from keepsake._errors import ImportInterruptedError, KeepsakeError, UnexpectedAnswerError
from keepsake._lines import AsyncImportSource, add, aparts, empty, import_request
from keepsake._model import read
from keepsake._request import Request
from keepsake._retry import Attempts
from keepsake.models import Import, MemoryImport

__all__ = ["AsyncGroup", "AsyncImportSource", "AsyncTransport"]

T = TypeVar("T", bound=BaseModel)
I = TypeVar("I", Import, MemoryImport)  # noqa: E741
Progress: TypeAlias = Callable[[int], None]


class AsyncTransport:
    """Sends requests with the settings of a client."""

    def __init__(self, core: Core, http: httpx.AsyncClient, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.core = core
        self.http = http
        self.sleep = sleep

    async def send(self, request: Request, model: type[T]) -> T:
        """Returns the answer of a call."""
        response = await self._call(request)
        return self.core.decode(request, response.status_code, response.headers, response.content, model)

    async def run(self, request: Request) -> None:
        """Makes a call whose answer has no content."""
        await self._call(request)

    async def text(self, request: Request) -> str:
        """Returns the answer of a call that is no JSON."""
        return (await self._call(request)).text

    async def items(self, request: Request, model: type[T], progress: Progress | None) -> AsyncIterator[T]:
        """Returns the lines of an answer. What is read before an error is complete."""
        adapter = TypeAdapter(model)
        async with aclosing(self._lines(request, progress)) as lines:
            async for line in lines:
                try:
                    yield read(adapter, line)
                except ValidationError as e:
                    what = f"{request.method} {self.core.shown}{request.path}"
                    raise UnexpectedAnswerError(unreadable(what, e), 200) from None

    async def save(self, request: Request, file: BinaryIO, progress: Progress | None) -> int:
        """Writes the lines of an answer to a file. It returns their bytes."""
        size = 0
        async with aclosing(self._lines(request, progress)) as lines:
            async for line in lines:
                size += file.write(line)
        return size

    async def import_lines(
        self, request: Request, source: AsyncImportSource, model: type[I], progress: Progress | None, key: str | None
    ) -> I:
        """Sends lines in parts. It returns the results of all parts together."""
        total = empty(model)
        done = 0
        async for part in aparts(request, source):
            try:
                add(total, await self.send(import_request(request, part, key), model), part.first_line)
            except KeepsakeError as e:
                if part.first_line == 1:
                    raise
                raise ImportInterruptedError(part.first_line, total, e) from e
            done += len(part.data)
            if progress:
                progress(done)
        return total

    async def _lines(self, request: Request, progress: Progress | None) -> AsyncGenerator[bytes, None]:
        response = await self._call(replace(request, accept="application/x-ndjson"), stream=True)
        size, count, rest = 0, 0, b""
        try:
            async for chunk in response.aiter_bytes():
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
            await response.aclose()
        if rest:
            raise self.core.failure(request, httpx.ReadError("the last line is not whole"), f" after {count} lines")

    async def _call(self, request: Request, stream: bool = False) -> httpx.Response:
        key = request.call_key()
        attempts = Attempts(self.core.retry, request)
        while True:
            try:
                return await self._try(request, key, stream)
            except KeepsakeError as e:
                wait = attempts.next(e)
                if wait is None:
                    raise
            await self.sleep(wait)

    async def _try(self, request: Request, key: str | None, stream: bool) -> httpx.Response:
        headers, content = self.core.headers(request, key), request.encoded()
        url: str | None = self.core.base + request.target()
        for followed in range(1000):
            assert url is not None
            sent = self.http.build_request(request.method, url, headers=headers, content=content, timeout=self.core.timeout)
            try:
                response = await self.http.send(sent, stream=stream, follow_redirects=False)
                if stream and response.status_code != 200:
                    await response.aread()
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


class AsyncGroup:
    """Methods of a client."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
