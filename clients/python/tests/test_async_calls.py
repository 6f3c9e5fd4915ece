"""How calls end, on answers that a server or something in front of it can give."""

from __future__ import annotations

import json
import warnings
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

import keepsake
from keepsake import UNSET, AsyncClient, Retry, models
from tests.conftest import Script, refusal

pytestmark = pytest.mark.anyio

DOCUMENT: dict[str, Any] = {
    "id": "boiler",
    "collection": "default",
    "title": "Boiler manual",
    "text": "Bleed the radiators.",
    "url": None,
    "tags": ["heat"],
    "metadata": {"floor": 2, "open": True, "wide": 1152921504606846976, "share": 0.5},
    "createdAt": "2026-11-23T15:58:02.310Z",
    "updatedAt": "2026-11-23T15:58:02.310Z",
    "revision": 1,
}
TOKENS = {"accessToken": "a", "tokenType": "Bearer", "expiresIn": 900, "refreshToken": "r", "refreshExpiresIn": 9}


def client(script: Script, retry: Retry = Retry(jitter=lambda: 1.0)) -> AsyncClient:  # noqa: B008
    async def sleep(seconds: float) -> None:
        script.waits.append(seconds)

    http = httpx.AsyncClient(transport=script.transport)
    return AsyncClient("https://search.example.org", "kpsk_x", http_client=http, sleep=sleep, retry=retry)


async def test_an_answer_is_a_model() -> None:
    script = Script([httpx.Response(200, json=DOCUMENT)])
    found = await client(script).documents.get("a/b")
    assert script.requests[0].url.raw_path == b"/api/v1/documents/a%2Fb"
    assert script.requests[0].headers["X-API-Key"] == "kpsk_x"
    assert found.created_at == datetime(2026, 11, 23, 15, 58, 2, 310000, timezone.utc)
    assert found.metadata == DOCUMENT["metadata"]
    assert [type(v) for v in found.metadata.values()] == [int, bool, int, float]


async def test_a_limit_is_waited_for() -> None:
    script = Script([refusal(429, "rate_limit_exceeded", retry_after="30"), httpx.Response(200, json=DOCUMENT)])
    await client(script).documents.get("boiler")
    assert script.waits == [30]


async def test_a_long_limit_is_an_error_with_the_time() -> None:
    script = Script([refusal(429, "rate_limit_exceeded", {"policy": "daily_quota"}, retry_after="3600")])
    with pytest.raises(keepsake.RateLimitError, match=r"Try again in 3600 s") as caught:
        await client(script, Retry(clock=lambda: 1_795_449_600)).documents.get("boiler")
    assert script.waits == [] and len(script.requests) == 1
    assert caught.value.retry_at == datetime.fromtimestamp(1_795_453_200, timezone.utc)
    assert (caught.value.retry_after, caught.value.policy, caught.value.attempts) == (3600, "daily_quota", 1)


async def test_waits_of_a_call_are_bounded_together() -> None:
    script = Script([refusal(429, "rate_limit_exceeded", retry_after="50")])
    with pytest.raises(keepsake.RateLimitError):
        await client(script).documents.get("boiler")
    assert script.waits == [50, 50]


async def test_retry_after_can_be_a_date() -> None:
    script = Script(
        [refusal(503, "unavailable", retry_after="Mon, 23 Nov 2026 12:00:07 GMT"), httpx.Response(200, json=DOCUMENT)]
    )
    noon = datetime(2026, 11, 23, 12, tzinfo=timezone.utc).timestamp()
    await client(script, Retry(clock=lambda: noon)).documents.get("boiler")
    assert script.waits == [7]


async def test_waits_without_a_header_grow() -> None:
    script = Script([refusal(503, "unavailable")])
    with pytest.raises(keepsake.ServerError) as caught:
        await client(script).documents.get("boiler")
    assert script.waits == [0.2, 0.4, 0.8]
    assert caught.value.attempts == 4


async def test_a_post_is_repeated_with_its_key() -> None:
    script = Script([httpx.ReadError("reset"), refusal(503, "unavailable"), httpx.Response(201, json=DOCUMENT)])
    await client(script).documents.create(id="boiler", title="Boiler manual")
    keys = {r.headers["Idempotency-Key"] for r in script.requests}
    assert len(script.requests) == 3 and len(keys) == 1


async def test_a_key_of_the_program_is_sent() -> None:
    script = Script([httpx.Response(201, json=DOCUMENT)])
    await client(script).documents.create(title="Boiler manual", idempotency_key="stored-before")
    assert script.requests[0].headers["Idempotency-Key"] == "stored-before"


async def test_an_earlier_attempt_that_runs_is_waited_for() -> None:
    running = refusal(409, "idempotency_in_progress", retry_after="1")
    script = Script([running] * 6 + [httpx.Response(201, json=DOCUMENT)])
    await client(script).documents.create(title="Boiler manual")
    assert script.waits == [1] * 6


async def test_a_post_without_a_key_is_sent_once() -> None:
    script = Script([refusal(503, "unavailable")])
    with pytest.raises(keepsake.ServerError):
        await client(script).auth.login("ada@example.org", "a long password")
    assert len(script.requests) == 1


async def test_an_erasure_is_sent_once() -> None:
    script = Script([httpx.ReadError("reset")])
    with pytest.raises(keepsake.ConnectionFailedError):
        await client(script).subjects.erase("p-4711")
    assert len(script.requests) == 1


async def test_a_refresh_is_repeated_for_eight_seconds() -> None:
    script = Script([refusal(503, "unavailable", retry_after="9")])
    with pytest.raises(keepsake.ServerError):
        await client(script).auth.refresh("r")
    assert script.waits == []


async def test_errors_have_what_the_server_said() -> None:
    details = {"field": "rateLimit.requestsPerMinute", "issue": "too_large"}
    script = Script([refusal(400, "validation_error", details)])
    with pytest.raises(keepsake.BadRequestError, match=r"rateLimit.requestsPerMinute: too_large") as caught:
        await client(script).api_keys.create(name="crawler", scopes=["read"])
    e = caught.value
    assert (e.status, e.code, e.field, e.issue, e.request_id) == (400, "validation_error", *details.values(), "req_1")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, keepsake.AuthenticationError),
        (403, keepsake.PermissionDeniedError),
        (404, keepsake.NotFoundError),
        (409, keepsake.ConflictError),
        (412, keepsake.RevisionMismatchError),
        (413, keepsake.BadRequestError),
        (500, keepsake.ServerError),
    ],
)
async def test_errors_have_a_class(status: int, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        await client(Script([refusal(status, "code")])).documents.get("boiler")


async def test_an_ended_version_names_its_replacement() -> None:
    body = {
        "error": "version_sunset",
        "message": "It ended.",
        "requestId": "req_1",
        "migrationGuideUrl": "https://g",
        "replacementVersion": "2",
    }
    with pytest.raises(keepsake.VersionEndedError) as caught:
        await client(Script([httpx.Response(410, json=body)])).documents.get("boiler")
    assert (caught.value.replacement_version, caught.value.migration_guide_url) == ("2", "https://g")


@pytest.mark.parametrize("status", [200, 404, 500])
async def test_a_page_of_another_server_is_one_clear_error(status: int) -> None:
    script = Script([httpx.Response(status, html="<h1>secret</h1>")])
    with pytest.raises(keepsake.UnexpectedAnswerError) as caught:
        await client(script).documents.get("boiler")
    assert str(caught.value) == (
        f"GET https://search.example.org/api/v1/documents/boiler: the answer, {status} with text/html, is not one of Keepsake: "
        "another server or a proxy answered; check the address of the client"
    )
    assert len(script.requests) == 1


async def test_a_page_of_a_proxy_without_a_server_is_repeated() -> None:
    script = Script([httpx.Response(502, html="<h1>Bad gateway</h1>")])
    with pytest.raises(keepsake.UnexpectedAnswerError, match="a proxy answered, because it could not reach the server"):
        await client(script).documents.get("boiler")
    assert len(script.requests) == 4


async def test_json_of_another_server_is_one_clear_error() -> None:
    with pytest.raises(keepsake.UnexpectedAnswerError, match="does not have the form"):
        await client(Script([httpx.Response(200, json={"id": 5, "tags": "x"})])).documents.get("boiler")


@pytest.mark.parametrize("other", [{}, {"ok": True}, [], "text"])
async def test_json_with_no_known_field_is_one_clear_error(other: object) -> None:
    with pytest.raises(keepsake.UnexpectedAnswerError, match="does not have the form"):
        await client(Script([httpx.Response(200, json=other)])).documents.get("boiler")


async def test_a_limit_of_a_proxy_is_waited_for_unless_it_is_long() -> None:
    page = httpx.Response(429, html="<h1>Slow down</h1>", headers={"Retry-After": "7"})
    script = Script([page, httpx.Response(201, json=DOCUMENT)])
    await client(script).documents.create(title="Boiler manual")
    assert script.waits == [7]
    script = Script([httpx.Response(429, html="<h1>Slow down</h1>", headers={"Retry-After": "3600"})])
    with pytest.raises(keepsake.UnexpectedAnswerError, match="429 with text/html") as caught:
        await client(script).documents.get("boiler")
    assert (caught.value.retry_after, script.waits) == (3600, [])


async def test_an_error_that_a_newer_server_invented_is_an_error() -> None:
    script = Script([refusal(451, "novel_code", {"field": "title", "issue": "novel_issue"})])
    with pytest.raises(keepsake.APIError, match="title: novel_issue") as caught:
        await client(script).documents.get("boiler")
    assert (caught.value.status, caught.value.code, len(script.requests)) == (451, "novel_code", 1)


async def test_a_value_that_a_newer_server_invented_is_kept() -> None:
    health = {"status": "excellent", "version": "9", "time": "2026-11-23T15:58:02.310Z", "novel": [1]}
    assert (await client(Script([httpx.Response(200, json=health)])).health()).status == "excellent"


async def test_a_field_that_an_older_server_does_not_know_is_named() -> None:
    script = Script([refusal(400, "validation_error", {"field": "timeZone", "issue": "unknown"})])
    with pytest.raises(keepsake.BadRequestError, match=r"timeZone: unknown.*older than this client"):
        await client(script).memories.recall("tea", subject_id="p-4711", time_zone="UTC")


async def test_half_an_answer_is_one_clear_error() -> None:
    half = httpx.Response(200, content=b'{"id": "boi', headers={"Content-Type": "application/json"})
    with pytest.raises(keepsake.UnexpectedAnswerError, match="not whole JSON"):
        await client(Script([half])).documents.get("boiler")


async def test_a_newer_server_can_answer_more() -> None:
    newer = DOCUMENT | {"inventedLater": "en"}
    found = await client(Script([httpx.Response(200, json=newer)])).documents.get("boiler")
    assert found.title == "Boiler manual"
    assert found.model_extra == {"inventedLater": "en"}


async def test_an_older_server_can_answer_less() -> None:
    older = {k: v for k, v in DOCUMENT.items() if k not in {"url", "tags", "metadata", "revision", "updatedAt"}}
    found = await client(Script([httpx.Response(200, json=older)])).documents.get("boiler")
    assert (found.title, found.url, found.tags, found.metadata, found.revision) == ("Boiler manual", None, [], {}, 0)
    assert found.updated_at.year == 1


async def test_no_connection_is_one_clear_error() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with AsyncClient("http://127.0.0.1:9", "kpsk_x", sleep=sleep) as c:
        with pytest.raises(
            keepsake.ConnectionFailedError, match=r"^GET http://127.0.0.1:9/api/v1/health: no connection"
        ) as caught:
            await c.health()
    assert len(waits) == 3 and not caught.value.sent


async def test_an_unknown_host_is_not_asked_again() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with AsyncClient("http://keepsake.invalid", sleep=sleep) as c:
        with pytest.raises(keepsake.ConnectionFailedError, match="no connection"):
            await c.health()
    assert waits == []


async def test_no_answer_in_time_is_an_error() -> None:
    script = Script([httpx.ReadTimeout("slow")])
    with pytest.raises(keepsake.TimedOutError, match="no answer in time"):
        await client(script).documents.create(title="a")
    assert len(script.requests) == 4


async def test_errors_do_not_contain_the_query() -> None:
    with pytest.raises(keepsake.ConnectionFailedError) as caught:
        await client(Script([httpx.ReadError("reset")])).memories.list(subject_id="p-4711")
    assert "p-4711" not in str(caught.value)


async def test_a_redirect_to_another_origin_is_not_followed() -> None:
    script = Script([httpx.Response(307, headers={"Location": "https://elsewhere.example.org/api/v1/health"})])
    with pytest.raises(keepsake.RedirectError, match="redirects to https://elsewhere.example.org; nothing was sent there"):
        await client(script).health()
    assert [r.url.host for r in script.requests] == ["search.example.org"]


async def test_a_redirect_of_a_client_that_follows_them_is_not_followed() -> None:
    script = Script([httpx.Response(302, headers={"Location": "http://search.example.org/"})])
    http = httpx.AsyncClient(transport=script.transport, follow_redirects=True)
    with pytest.raises(keepsake.RedirectError):
        await AsyncClient("https://search.example.org", "kpsk_x", http_client=http).health()
    assert len(script.requests) == 1


async def test_a_redirect_within_the_origin_is_followed() -> None:
    script = Script([httpx.Response(308, headers={"Location": "/v/api"}), httpx.Response(200, json=DOCUMENT)])
    await client(script).documents.put("boiler", title="a")
    assert [r.url.path for r in script.requests] == ["/api/v1/documents/boiler", "/v/api"]
    assert script.requests[1].content == b'{"title":"a"}'


async def test_redirects_end() -> None:
    script = Script([httpx.Response(302, headers={"Location": "/again"})])
    with pytest.raises(keepsake.RedirectError, match="stopped after 10 redirects"):
        await client(script).health()


async def test_a_deprecated_version_is_warned_of_once() -> None:
    deprecated = {
        "Deprecation": "true",
        "Sunset": "Tue, 01 Jun 2027 00:00:00 GMT",
        "X-API-Version": "1",
        "X-API-Replacement-Version": "2",
    }
    script = Script([httpx.Response(200, json=DOCUMENT, headers=deprecated)])
    c = client(script)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        await c.documents.get("boiler")
        await c.documents.get("boiler")
    assert [w.category for w in caught] == [keepsake.DeprecatedVersionWarning]
    assert (
        str(caught[0].message)
        == "version 1 of the API is deprecated and ends on Tue, 01 Jun 2027 00:00:00 GMT; version 2 replaces it"
    )
    assert caught[0].filename == __file__


async def test_limits_are_those_of_the_last_answer() -> None:
    headers = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1795449600"}
    headers |= {"X-RateLimit-Daily-Remaining": "9", "X-RateLimit-Monthly-Remaining": "99"}
    of_key = headers | {"X-RateLimit-Key-Limit": "30", "X-RateLimit-Key-Remaining": "29"}
    script = Script([httpx.Response(200, json=DOCUMENT, headers=headers), httpx.Response(200, json=DOCUMENT, headers=of_key)])
    c = client(script)
    assert c.rate_limits is None
    await c.documents.get("boiler")
    assert c.rate_limits is not None and c.rate_limits.key is None and c.rate_limits.reset_at.year == 2026
    await c.documents.get("boiler")
    assert c.rate_limits.key == keepsake.KeyRateLimits(30, 29)


async def test_pages_are_read_when_they_are_needed() -> None:
    pages = [{"items": [DOCUMENT, DOCUMENT], "nextCursor": "c1"}, {"items": [DOCUMENT], "nextCursor": None}]
    script = Script([httpx.Response(200, json=page) for page in pages])
    found = [d.id async for d in client(script).documents.each(tag=["a", "b"], limit=2)]
    assert found == ["boiler"] * 3
    assert [str(r.url.query, "ascii") for r in script.requests] == ["tag=a&tag=b&limit=2", "tag=a&tag=b&limit=2&cursor=c1"]


async def test_a_change_leaves_out_what_is_not_set_and_removes_none() -> None:
    script = Script([httpx.Response(200, json=DOCUMENT)])
    await client(script).documents.update("boiler", title=UNSET, url=None, metadata={"floor": None}, if_revision=3)
    assert json.loads(script.requests[0].content) == {"url": None, "metadata": {"floor": None}}
    assert script.requests[0].headers["If-Match"] == '"3"'


async def test_what_is_none_is_left_out_of_other_requests() -> None:
    script = Script([httpx.Response(200, json={"results": [], "tookMs": 1, "degraded": []})])
    await client(script).memories.recall("bike?", subject_id="p-4711", from_=datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert json.loads(script.requests[0].content) == {"query": "bike?", "subjectId": "p-4711", "from": "2026-01-01T00:00:00Z"}


async def test_models_in_requests_have_the_names_of_json() -> None:
    script = Script([httpx.Response(200, json={"results": []})])
    await client(script).memories.create_many([models.NewMemory(subject_id="p-4711", text="Her bicycle is green.")])
    assert json.loads(script.requests[0].content) == {"items": [{"subjectId": "p-4711", "text": "Her bicycle is green."}]}


async def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        await client(Script([])).memories.list(from_=datetime(2026, 1, 1))


@pytest.mark.parametrize("url", ["search.example.org", "ftp://x", "https://", "https://x/api/v1", "https://x/api/"])
async def test_wrong_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="the address must"):
        AsyncClient(url)


async def test_a_key_with_a_line_break_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="line break") as caught:
        AsyncClient("https://x", "kpsk_secret\n")
    assert "secret" not in str(caught.value)


async def test_an_empty_id_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        await client(Script([])).documents.delete("")


async def test_a_password_in_the_address_is_not_shown() -> None:
    script = Script([httpx.ReadError("reset")])
    c = AsyncClient(
        "https://ada:secret@x.example.org", http_client=httpx.AsyncClient(transport=script.transport), retry=Retry(retries=0)
    )
    with pytest.raises(keepsake.ConnectionFailedError, match=r"GET https://x.example.org/api") as caught:
        await c.health()
    assert "secret" not in str(caught.value) + repr(c)


async def test_options_are_those_of_the_new_client() -> None:
    script = Script([httpx.Response(204)])
    c = client(script)
    await c.with_options(access_token="t", api_key="").auth.logout()
    await c.documents.delete("a")
    assert [r.headers.get("Authorization") for r in script.requests] == ["Bearer t", None]
    assert [r.headers.get("X-API-Key") for r in script.requests] == [None, "kpsk_x"]


def line(**fields: Any) -> bytes:
    return json.dumps(DOCUMENT | fields).encode() + b"\n"


async def test_an_export_is_a_stream_of_models(tmp_path: Any) -> None:
    text = line(id="a") + line(id="b")
    script = Script([refusal(503, "unavailable"), httpx.Response(200, content=text)])
    seen: list[int] = []
    c = client(script)
    assert [d.id async for d in c.documents.export(progress=seen.append)] == ["a", "b"]
    assert seen[-1] == len(text)
    with open(tmp_path / "x", "wb") as file:
        assert await c.documents.export_to(file) == len(text)
    assert (tmp_path / "x").read_bytes() == text


async def test_a_connection_that_breaks_in_an_export_is_one_clear_error(serve: Any) -> None:
    def half(h: BaseHTTPRequestHandler) -> None:
        h.send_response(200)
        h.send_header("Content-Type", "application/x-ndjson")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        text = line(id="a") + line(id="b")[:20]
        h.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        h.close_connection = True

    found = []
    async with AsyncClient(serve(half), "kpsk_x") as c:
        with pytest.raises(keepsake.ConnectionFailedError, match="the connection broke after 1 lines"):
            async for d in c.documents.export():
                found.append(d.id)
    assert found == ["a"]


async def test_a_connection_that_breaks_in_an_answer_is_repeated(serve: Any) -> None:
    count = 0

    def first_half(h: BaseHTTPRequestHandler) -> None:
        nonlocal count
        count += 1
        text = line()
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Content-Length", str(len(text)))
        h.end_headers()
        h.wfile.write(text[:20] if count == 1 else text)
        h.close_connection = True

    async def sleep(seconds: float) -> None:
        pass

    async with AsyncClient(serve(first_half), "kpsk_x", sleep=sleep) as c:
        assert (await c.documents.get("boiler")).id == "boiler"
    assert count == 2


def imported(received: int, **fields: Any) -> httpx.Response:
    counts = {"received": received, "created": received, "replaced": 0, "failed": 0, "deleted": 0, "errors": [], "issues": []}
    return httpx.Response(200, json=counts | fields)


async def test_an_import_is_sent_in_parts() -> None:
    issue = {"field": "text", "issue": "required"}
    second = imported(2, created=1, failed=1, errors=[{"line": 2, "message": "No.", **issue}], issues=[{"count": 1, **issue}])
    script = Script([imported(5000), second])
    seen: list[int] = []
    source = ({"id": str(n), "title": "a"} for n in range(5002))
    total = await client(script).documents.import_(source, progress=seen.append)
    assert (total.received, total.created, total.failed) == (5002, 5001, 1)
    assert [e.line for e in total.errors] == [5002]
    assert [len(r.content) for r in script.requests] == [seen[0], seen[1] - seen[0]]
    assert script.requests[0].headers["Idempotency-Key"] != script.requests[1].headers["Idempotency-Key"]


async def test_an_import_that_ends_early_has_the_result_so_far() -> None:
    script = Script([imported(5000), refusal(507, "limit_reached")])
    with pytest.raises(keepsake.ImportInterruptedError, match=r"the lines before line 5001 were sent") as caught:
        await client(script).documents.import_({"id": str(n)} for n in range(6000))
    assert (caught.value.line, caught.value.result.received) == (5001, 5000)
    assert isinstance(caught.value.__cause__, keepsake.APIError)


async def test_a_connection_that_is_cut_in_an_import_is_one_clear_error() -> None:
    script = Script([imported(5000), httpx.RemoteProtocolError("cut")])
    with pytest.raises(keepsake.ImportInterruptedError, match=r"before line 5001 were sent.*connection broke") as caught:
        await client(script).documents.import_({"id": str(n)} for n in range(6000))
    assert (caught.value.line, caught.value.result.received, len(script.requests)) == (5001, 5000, 5)
    assert isinstance(caught.value.__cause__, keepsake.ConnectionFailedError)
    assert len({r.headers["Idempotency-Key"] for r in script.requests[1:]}) == 1


async def test_memories_without_ids_are_sent_without_a_key() -> None:
    script = Script([refusal(503, "unavailable")])
    with pytest.raises(keepsake.ServerError):
        await client(script).memories.import_([models.NewMemory(subject_id="p-4711", text="a")])
    assert len(script.requests) == 1 and "Idempotency-Key" not in script.requests[0].headers


async def test_an_import_that_replaces_is_one_request() -> None:
    script = Script([imported(6000, deleted=2)])
    source = [{"name": str(n)} for n in range(6000)]
    total = await client(script).documents.import_(source, id="name", into="bread", replace=True)
    assert (total.received, total.deleted) == (6000, 2)
    assert [r.url.query for r in script.requests] == [b"id=name&into=bread&replace=true"]
    with pytest.raises(keepsake.ImportTooLargeError):
        await client(script).documents.import_([b"x" * (4_000_000)] * 17, into="bread", replace=True)


@pytest.mark.parametrize("text", [b'{"id":"a"}\n{"id":"b"}', b'\xef\xbb\xbf [{"id":"a"},\n{"id":"b"}]'])
async def test_files_have_lines_or_an_array(tmp_path: Any, text: bytes) -> None:
    path = tmp_path / "documents"
    path.write_bytes(text)
    script = Script([imported(2)])
    with open(path, "rb") as file:
        await client(script).documents.import_(file)
    assert script.requests[0].content == b'{"id":"a"}\n{"id":"b"}\n'


async def test_a_line_of_any_length_is_refused() -> None:
    with pytest.raises(keepsake.LineTooLongError, match="line 2 is longer"):
        await client(Script([imported(1)])).documents.import_([b"{}\n", b"x" * (4 << 20)])


async def test_a_path_is_no_source() -> None:
    with pytest.raises(TypeError, match="an open file"):
        await client(Script([])).documents.import_("documents.ndjson")


async def test_tables_are_texts() -> None:
    script = Script([httpx.Response(200, text="requests\n5\n", headers={"Content-Type": "text/csv"})])
    assert await client(script).analytics.summary_csv(window="7d") == "requests\n5\n"
    assert script.requests[0].url.query == b"window=7d&format=csv"
