# Written by clients/python/tools/generate.py from the module for asyncio. Run `make clients` instead of changing it.

"""The clients."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import httpx

from keepsake._answer import RateLimits
from keepsake._core import DEFAULT_TIMEOUT, Core, Credentials
from keepsake._options import Options
from keepsake._resources import AgentMethods, BackendMethods, Groups
from keepsake._retry import Retry
from keepsake._transport import Transport

C = TypeVar("C", bound="Connection")


class Connection:
    """What all clients have: settings, limits, and connections that end with `close`."""

    _transport: Transport
    _owned: bool

    @property
    def rate_limits(self) -> RateLimits | None:
        """The limits that the last answer reported, also if it was an error. None before the first answer.

        If several calls run at once, it belongs to one of them.
        """
        return self._transport.core.state.limits

    def close(self) -> None:
        """Close the connections, unless they are those of your `http_client`."""
        if self._owned:
            self._transport.http.close()

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.core.shown!r})"


def connect(
    base_url: str,
    credentials: Credentials,
    timeout: float | httpx.Timeout,
    retry: Retry,
    http_client: httpx.Client | None,
    sleep: Callable[[float], None],
    user_agent: str | None,
) -> Transport:
    """Returns what sends the requests of a client."""
    core = Core(base_url, credentials, retry, httpx.Timeout(timeout))
    if user_agent:
        core = core.changed(user_agent=user_agent)
    return Transport(core, http_client or httpx.Client(timeout=core.timeout), sleep)


class Client(Connection, Groups):
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
        http_client: httpx.Client | None = None,
        user_agent: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        credentials = Credentials(api_key=api_key, token=access_token)
        self._owned = http_client is None
        Groups.__init__(self, connect(base_url, credentials, timeout, retry, http_client, sleep, user_agent))

    def with_options(
        self,
        *,
        api_key: str | None = None,
        access_token: str | None = None,
        timeout: float | httpx.Timeout | None = None,
        retry: Retry | None = None,
    ) -> Client:
        """Return a client with other settings, which shares the connections with this one. Close only this one."""
        options = Options(api_key=api_key, token=access_token, timeout=timeout, retry=retry)
        other = Client.__new__(Client)
        other._owned = False
        Groups.__init__(other, Transport(options.apply(self._transport.core), self._transport.http, self._transport.sleep))
        return other


class Agent(Connection, AgentMethods):
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
        http_client: httpx.Client | None = None,
        user_agent: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._owned = http_client is None
        credentials = Credentials(token=credential)
        super().__init__(connect(base_url, credentials, timeout, retry, http_client, sleep, user_agent))


class Backend(Connection, BackendMethods):
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
        http_client: httpx.Client | None = None,
        user_agent: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._owned = http_client is None
        credentials = Credentials(api_key=api_key, secret=secret)
        super().__init__(connect(base_url, credentials, timeout, retry, http_client, sleep, user_agent))
