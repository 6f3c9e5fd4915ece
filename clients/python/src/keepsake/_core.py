"""What both transports have in common: everything but waiting for the network."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import httpx
from pydantic import BaseModel

from keepsake._answer import RateLimits, decode, error, rate_limits, warn_of_deprecation
from keepsake._errors import ConnectionFailedError, RedirectError, TimedOutError
from keepsake._request import Request
from keepsake._retry import Retry
from keepsake._version import VERSION

T = TypeVar("T", bound=BaseModel)

MOST_REDIRECTS = 10
REDIRECTS = (301, 302, 303, 307, 308)
DEFAULT_TIMEOUT = httpx.Timeout(60, connect=10)


@dataclass(frozen=True)
class Credentials:
    """What identifies the caller. An empty one is not sent."""

    api_key: str = ""
    token: str = ""
    secret: str = ""  # of the backend listener

    def __post_init__(self) -> None:
        for name, value in (("API key", self.api_key), ("token", self.token), ("backend secret", self.secret)):
            if not all("!" <= c <= "~" for c in value):
                raise ValueError(
                    f"the {name} must have only printable ASCII characters and no spaces; does it end with a line break?"
                )

    def headers(self) -> dict[str, str]:
        """Returns the headers with the credentials."""
        found = {
            "X-API-Key": self.api_key,
            "Authorization": f"Bearer {self.token}" if self.token else "",
            "X-Keepsake-Backend": self.secret,
        }
        return {name: value for name, value in found.items() if value}

    def __repr__(self) -> str:
        return "Credentials(…)"


@dataclass
class State:
    """What changes with every answer."""

    limits: RateLimits | None = None
    warned: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def copy(self) -> State:
        """Returns the state of a client with other settings."""
        return State(warned=self.warned)


@dataclass(frozen=True)
class Core:
    """The settings of a client, and what follows from them."""

    base_url: str
    credentials: Credentials
    retry: Retry = field(default_factory=Retry)
    timeout: httpx.Timeout = field(default_factory=lambda: DEFAULT_TIMEOUT)
    user_agent: str = f"keepsake-python/{VERSION}"
    state: State = field(default_factory=State)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("the address must look like https://search.example.org")
        path = parts.path.rstrip("/")
        if path == "/api" or path.startswith("/api/v"):
            raise ValueError("the address must end before /api: https://search.example.org")

    @property
    def base(self) -> str:
        """The address, without a slash at its end."""
        return self.base_url.rstrip("/")

    @property
    def shown(self) -> str:
        """The address for errors, without a password."""
        parts = urlsplit(self.base)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def changed(self, user_agent: str) -> Core:
        """Returns the settings with another name of the calling program."""
        return replace(self, user_agent=user_agent)

    def headers(self, request: Request, key: str | None) -> dict[str, str]:
        """Returns all headers of a request."""
        return {"User-Agent": self.user_agent} | self.credentials.headers() | request.headers(key)

    def notice(self, headers: Mapping[str, str]) -> None:
        """Keeps what an answer says about limits, and warns once of a deprecated version."""
        if limits := rate_limits(headers):
            self.state.limits = limits
        if headers.get("Deprecation"):
            with self.state.lock:
                first, self.state.warned = not self.state.warned, True
            if first:
                warn_of_deprecation(headers)

    def error(self, request: Request, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        """Returns the error of an answer whose status is no success."""
        return error(request, self.shown, status, headers, body, self.retry.clock())

    def decode(self, request: Request, status: int, headers: Mapping[str, str], body: bytes, model: type[T]) -> T:
        """Reads a successful answer."""
        return decode(request, self.shown, status, headers, body, model)

    def redirected(self, request: Request, url: str, status: int, headers: Mapping[str, str], followed: int) -> str | None:
        """Returns the address that a redirect names. None if the answer is none. Another origin is an error."""
        if status not in REDIRECTS or not headers.get("Location"):
            return None
        target = urljoin(url, headers["Location"])
        if origin(target) != origin(url):
            there = urlsplit(target)
            raise RedirectError(
                f"{request.method} {self.shown}{request.path}: the server redirects to {there.scheme}://"
                f"{there.netloc.rpartition('@')[2]}; nothing was sent there. If that is the right address, use it"
            )
        if followed >= MOST_REDIRECTS:
            raise RedirectError(f"{request.method} {self.shown}{request.path}: stopped after {followed} redirects")
        if request.method != "GET" and status not in (307, 308):
            raise RedirectError(f"{request.method} {self.shown}{request.path}: the server redirects a request that has a body")
        return target

    def failure(self, request: Request, e: httpx.RequestError, after: str = "") -> ConnectionFailedError:
        """Returns the error of a call without a complete answer. It does not contain the query, which can be confidential."""
        what = f"{request.method} {self.shown}{request.path}: "
        if isinstance(e, (httpx.ConnectTimeout, httpx.PoolTimeout)):
            return TimedOutError(what + "no connection in time", sent=False)
        if isinstance(e, httpx.TimeoutException):
            return TimedOutError(what + "no answer in time" + after)
        if isinstance(e, httpx.ConnectError):
            return ConnectionFailedError(what + f"no connection: {e}", sent=False, temporary=not permanent(e))
        if isinstance(e, (httpx.ProxyError, httpx.UnsupportedProtocol)):
            return ConnectionFailedError(what + str(e), sent=False, temporary=False)
        return ConnectionFailedError(what + f"the connection broke{after}: {e or type(e).__name__}")


def permanent(e: BaseException) -> bool:
    """Reports whether there will be no connection: the host is unknown, or its certificate is wrong."""
    cause: BaseException | None = e
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        if isinstance(cause, socket.gaierror) and cause.errno in (
            socket.EAI_NONAME,
            getattr(socket, "EAI_NODATA", socket.EAI_NONAME),
        ):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def origin(url: str) -> tuple[str, str, int]:
    """Returns the scheme, the host and the port of an address."""
    parts = urlsplit(url)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or (443 if parts.scheme.lower() == "https" else 80)
