"""Every method of the clients, with every parameter, compared with openapi/v1.json."""

from __future__ import annotations

import builtins
import inspect
import io
import json
import typing
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

import keepsake
from keepsake import Agent, Backend, Client, Retry, _resources, models
from keepsake._transport import Group
from tests.conftest import Script, refusal

DOCUMENT = Path(__file__).parents[3] / "openapi" / "v1.json"

# Methods that are not repeated after an answer that leaves open whether the request was performed, with the reason.
SENT_ONCE = {
    "auth.login": "a wrong password counts each time",
    "auth.change_password": "the second attempt would have the wrong password",
    "api_keys.verify": "it charges the key",
    "backend.verify_api_key": "it charges the key",
    "memories.import_": "a memory without an ID would be stored twice",
}


def filled(kind: Any, name: str) -> Any:
    """Returns a value of a type in which everything is set."""
    options = [o for o in typing.get_args(kind) if o is not type(None)]
    if typing.get_origin(kind) is typing.Literal:
        return options[0]
    if name == "source":
        return [{"text": "a"}]
    if options and typing.get_origin(kind) in (typing.Union, type(int | str)):
        return filled(options[0], name)
    if name == "file":
        return io.BytesIO()
    if name in ("dry_run", "consume"):
        return None  # a dry run is harmless, and can be repeated
    if kind is datetime:
        return datetime(2026, 11, 23, tzinfo=timezone.utc)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_construct()
    origin = typing.get_origin(kind)
    if origin is not None and "Sequence" in str(origin):
        return [filled(options[0], name)]
    if origin is not None and "Mapping" in str(origin):
        return {"a": "b"}
    if name == "progress":
        return None
    return {str: "text", int: 7, float: 0.5, bool: True}.get(kind)


def methods(script: Script) -> Iterator[tuple[str, Any]]:
    """Returns the methods of all clients by their names."""
    http = httpx.Client(transport=script.transport)
    retry = Retry(retries=1)
    options: Any = {"http_client": http, "retry": retry, "sleep": lambda _: None}
    client = Client("https://x.example.org", "k", **options)
    groups: dict[str, Any] = {name: group for name, group in vars(client).items() if isinstance(group, Group)}
    groups |= {"client": client, "agent": Agent("https://x.example.org", "k", **options)}
    groups["backend"] = Backend("https://x.example.org", "s", **options)
    for name, group in groups.items():
        for method, function in inspect.getmembers(group, inspect.ismethod):
            if not method.startswith("_") and method not in ("close", "with_options"):
                yield f"{name}.{method}", function


def call(function: Any) -> None:
    """Calls a method with every parameter."""
    hints = typing.get_type_hints(function, vars(_resources) | vars(models) | {"list": builtins.list})
    arguments = {name: filled(hints[name], name) for name in inspect.signature(function).parameters}
    result = function(**arguments)
    if inspect.isgenerator(result):
        next(result, None)


@pytest.fixture(scope="module")
def operations() -> dict[tuple[str, str], Any]:
    """The operations of the API by method and path."""
    if not DOCUMENT.exists():
        pytest.skip("openapi/v1.json is not here")
    paths = json.loads(DOCUMENT.read_text())["paths"]
    return {(verb.upper(), path): op for path, verbs in paths.items() for verb, op in verbs.items()}


def find(operations: dict[tuple[str, str], Any], request: httpx.Request) -> Any:
    """Returns the operation of a request: of those that match, the one with the fewest variables."""
    segments = request.url.raw_path.decode().split("?")[0].split("/")
    best: tuple[int, Any] | None = None
    for (verb, path), operation in operations.items():
        parts = path.split("/")
        if verb != request.method or len(parts) != len(segments):
            continue
        variables = [part.startswith("{") for part in parts]
        matches = all(v or a == b for v, a, b in zip(variables, parts, segments, strict=True))
        if matches and (best is None or sum(variables) < best[0]):
            best = (sum(variables), operation)
    assert best is not None, f"the API has no {request.method} {request.url.path}"
    return best[1]


def test_methods_send_what_the_api_accepts(operations: dict[tuple[str, str], Any]) -> None:
    called = set()
    script = Script([refusal(400, "validation_error")])
    for name, function in methods(script):
        script.requests.clear()
        with pytest.raises(keepsake.BadRequestError):
            call(function)
        [request] = script.requests
        operation = find(operations, request)
        called.add(operation["operationId"])
        refs = [p.get("name") or p["$ref"].rsplit("/", 1)[1] for p in operation.get("parameters", [])]
        assert set(request.url.params) <= set(refs), name
        keyed = "Idempotency-Key" in refs or "IdempotencyKey" in refs
        sent = "Idempotency-Key" in request.headers
        assert sent == (keyed and name not in ("memories.plan_forget", "memories.import_")), name
        assert ("If-Match" in request.headers) == ("If-Match" in refs), name
        of_surface = operation.get("x-surface")
        assert ("Accept-Version" in request.headers) == (of_surface is not None), name
        assert ("Authorization" in request.headers, "X-Keepsake-Backend" in request.headers) == (
            of_surface == "ai",
            of_surface == "backend",
        ), name
    missing = {op["operationId"] for op in operations.values()} - called
    assert missing == {
        "search", "aiCallTools", "aiGetToolsMetadata", "backendForwardAuth", "backendLivez", "backendReadyz", "backendMetrics"
    }  # fmt: skip


def test_methods_with_one_effect_are_repeated() -> None:
    once = set()
    script = Script([refusal(503, "unavailable")])
    for name, function in methods(script):
        script.requests.clear()
        with pytest.raises(keepsake.ServerError):
            call(function)
        keys = {r.headers.get("Idempotency-Key") for r in script.requests}
        assert len(keys) == 1, f"{name}: the second attempt has another Idempotency-Key"
        if len(script.requests) == 1:
            once.add(name)
    assert once == SENT_ONCE.keys()
