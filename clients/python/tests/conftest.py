"""What tests share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Script:
    """Answers the requests of a client one after another, and remembers them. The last answer is for all that follow."""

    answers: Sequence[httpx.Response | Exception]
    requests: list[httpx.Request] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)


def refusal(status: int, code: str, details: dict[str, str] | None = None, **headers: str) -> httpx.Response:
    """Returns an error of the server. Headers are given as retry_after=…"""
    body = {"error": code, "message": "No.", "requestId": "req_1", "details": details or {}}
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


@dataclass(frozen=True)
class Program:
    """A running server, with its first key and the password of admin@localhost."""

    url: str
    key: str
    password: str
    backend_url: str
    backend_secret: str


@pytest.fixture(scope="session")
def program() -> Program:
    names = ("URL", "KEY", "PASSWORD", "BACKEND_URL", "BACKEND_SECRET")
    values = [os.environ.get("KEEPSAKE_" + name, "") for name in names]
    if not values[0]:
        pytest.skip("KEEPSAKE_URL names no running server")
    return Program(*values)


Handler = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts servers whose handler writes to the connection itself. Each returns its address. A raw one also reads the body."""
    servers: list[ThreadingHTTPServer] = []

    def start(handle: Handler, raw: bool = False) -> str:
        class Server(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                handle(self)

            def do_POST(self) -> None:
                if not raw:
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                handle(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
