"""The clients."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeVar

import httpx

from keepsake._answer import RateLimits
from keepsake._async_resources import AsyncAgentMethods, AsyncBackendMethods, AsyncGroups
from keepsake._async_transport import AsyncTransport
from keepsake._core import DEFAULT_TIMEOUT, Core, Credentials
from keepsake._options import Options
from keepsake._retry import Retry

C = TypeVar("C", bound="AsyncConnection")


class AsyncConnection:
    """What all clients have: settings, limits, and connections that end with `aclose`."""

    _transport: AsyncTransport
    _owned: bool

    @property
    def rate_limits(self) -> RateLimits | None:
        """The limits that the last answer reported, also if it was an error. None before the first answer.

        If several calls run at once, it belongs to one of them.
        """
        return self._transport.core.state.limits

    async def aclose(self) -> None:
        """Close the connections, unless they are those of your `http_client`."""
        if self._owned:
            await self._transport.http.aclose()

    async def __aenter__(self: C) -> C:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.core.shown!r})"


def connect(
    base_url: str,
    credentials: Credentials,
    timeout: float | httpx.Timeout,
    retry: Retry,
    http_client: httpx.AsyncClient | None,
    sleep: Callable[[float], Awaitable[None]],
    user_agent: str | None,
) -> AsyncTransport:
    """Returns what sends the requests of a client."""
    core = Core(base_url, credentials, retry, httpx.Timeout(timeout))
    if user_agent:
        core = core.changed(user_agent=user_agent)
    return AsyncTransport(core, http_client or httpx.AsyncClient(timeout=core.timeout), sleep)


class AsyncClient(AsyncConnection, AsyncGroups):
    """Calls one server with one credential.

    A call is repeated, at most as often as `retry` allows, if it exceeded a limit (429), if the server or its proxy was
    unavailable (502, 503, 504), or if the connection failed; a call that can have had an effect is only repeated if that has no
    second one. Errors are `KeepsakeError`; an answer with an error is an `APIError`.

    Args:
        base_url: The address of the server, without /api: https://search.example.org.
        api_key: Can be empty for calls that need none.
        access_token: The `access_token` of `auth.login`. If an operation accepts both, the server uses the key.
        timeout: For an attempt, in seconds, or as httpx has it.
        retry: When calls are repeated.
        http_client: An HTTP client of your own, with a proxy or certificates. You close it.
        user_agent: The name of your program.
        sleep: Waits, for tests.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str = "",
        *,
        access_token: str = "",
        timeout: float | httpx.Timeout = DEFAULT_TIMEOUT,
        retry: Retry = Retry(),  # noqa: B008
        http_client: httpx.AsyncClient | None = None,
        user_agent: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        credentials = Credentials(api_key=api_key, token=access_token)
        self._owned = http_client is None
        AsyncGroups.__init__(self, connect(base_url, credentials, timeout, retry, http_client, sleep, user_agent))

    def with_options(
        self,
        *,
        api_key: str | None = None,
        access_token: str | None = None,
        timeout: float | httpx.Timeout | None = None,
        retry: Retry | None = None,
    ) -> AsyncClient:
        """Return a client with other settings, which shares the connections with this one. Close only this one."""
        options = Options(api_key=api_key, token=access_token, timeout=timeout, retry=retry)
        other = AsyncClient.__new__(AsyncClient)
        other._owned = False
        AsyncGroups.__init__(
            other, AsyncTransport(options.apply(self._transport.core), self._transport.http, self._transport.sleep)
        )
        return other


class AsyncAgent(AsyncConnection, AsyncAgentMethods):
    """Calls the AI services of a server: the operations on memories that an agent needs.

    If its API key is bound to a subject, leave `subject_id` out of every call; the agent reaches the memories of no one else.

    Args:
        base_url: The address of the server, or of the listener of the AI services.
        credential: An API key or an access token. It is sent as Authorization: Bearer.
    """

    def __init__(
        self,
        base_url: str,
        credential: str,
        *,
        timeout: float | httpx.Timeout = DEFAULT_TIMEOUT,
        retry: Retry = Retry(),  # noqa: B008
        http_client: httpx.AsyncClient | None = None,
        user_agent: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._owned = http_client is None
        credentials = Credentials(token=credential)
        super().__init__(connect(base_url, credentials, timeout, retry, http_client, sleep, user_agent))


class AsyncBackend(AsyncConnection, AsyncBackendMethods):
    """Calls the backend listener of a server, for services next to it.

    With an API key, the calls know only keys of its workspace; the secret alone knows the keys of all workspaces. A listener that
    other machines can reach requires the secret.

    Args:
        base_url: The address of the backend listener: http://127.0.0.1:8081.
        secret: The backend secret. Can be empty with an API key.
        api_key: Has the scope developer:manage. Can be empty with the secret.
    """

    def __init__(
        self,
        base_url: str,
        secret: str = "",
        api_key: str = "",
        *,
        timeout: float | httpx.Timeout = DEFAULT_TIMEOUT,
        retry: Retry = Retry(),  # noqa: B008
        http_client: httpx.AsyncClient | None = None,
        user_agent: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._owned = http_client is None
        credentials = Credentials(api_key=api_key, secret=secret)
        super().__init__(connect(base_url, credentials, timeout, retry, http_client, sleep, user_agent))
