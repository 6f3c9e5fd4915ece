# Written by clients/python/tools/generate.py from the module for asyncio. Run `make clients` instead of changing it.

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
from keepsake import UNSET, Client, Retry, models
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


def client(script: Script, retry: Retry = Retry(jitter=lambda: 1.0)) -> Client:  # noqa: B008
    def sleep(seconds: float) -> None:
        script.waits.append(seconds)

    http = httpx.Client(transport=script.transport)
    return Client("https://search.example.org", "kpsk_x", http_client=http, sleep=sleep, retry=retry)


def test_an_answer_is_a_model() -> None:
    script = Script([httpx.Response(200, json=DOCUMENT)])
    found = client(script).documents.get("a/b")
    assert script.requests[0].url.raw_path == b"/api/v1/documents/a%2Fb"
    assert script.requests[0].headers["X-API-Key"] == "kpsk_x"
    assert found.created_at == datetime(2026, 11, 23, 15, 58, 2, 310000, timezone.utc)
    assert found.metadata == DOCUMENT["metadata"]
    assert [type(v) for v in found.metadata.values()] == [int, bool, int, float]


def test_a_limit_is_waited_for() -> None:
    script = Script([refusal(429, "rate_limit_exceeded", retry_after="30"), httpx.Response(200, json=DOCUMENT)])
    client(script).documents.get("boiler")
    assert script.waits == [30]


def test_a_long_limit_is_an_error_with_the_time() -> None:
    script = Script([refusal(429, "rate_limit_exceeded", {"policy": "daily_quota"}, retry_after="3600")])
    with pytest.raises(keepsake.RateLimitError, match=r"Try again in 3600 s") as caught:
        client(script, Retry(clock=lambda: 1_795_449_600)).documents.get("boiler")
    assert script.waits == [] and len(script.requests) == 1
    assert caught.value.retry_at == datetime.fromtimestamp(1_795_453_200, timezone.utc)
    assert (caught.value.retry_after, caught.value.policy, caught.value.attempts) == (3600, "daily_quota", 1)


def test_waits_of_a_call_are_bounded_together() -> None:
    script = Script([refusal(429, "rate_limit_exceeded", retry_after="50")])
    with pytest.raises(keepsake.RateLimitError):
        client(script).documents.get("boiler")
    assert script.waits == [50, 50]


def test_retry_after_can_be_a_date() -> None:
    script = Script(
        [refusal(503, "unavailable", retry_after="Mon, 23 Nov 2026 12:00:07 GMT"), httpx.Response(200, json=DOCUMENT)]
    )
    noon = datetime(2026, 11, 23, 12, tzinfo=timezone.utc).timestamp()
    client(script, Retry(clock=lambda: noon)).documents.get("boiler")
    assert script.waits == [7]


def test_waits_without_a_header_grow() -> None:
    script = Script([refusal(503, "unavailable")])
    with pytest.raises(keepsake.ServerError) as caught:
        client(script).documents.get("boiler")
    assert script.waits == [0.2, 0.4, 0.8]
    assert caught.value.attempts == 4


def test_a_post_is_repeated_with_its_key() -> None:
    script = Script([httpx.ReadError("reset"), refusal(503, "unavailable"), httpx.Response(201, json=DOCUMENT)])
    client(script).documents.create(id="boiler", title="Boiler manual")
    keys = {r.headers["Idempotency-Key"] for r in script.requests}
    assert len(script.requests) == 3 and len(keys) == 1


def test_a_key_of_the_program_is_sent() -> None:
    script = Script([httpx.Response(201, json=DOCUMENT)])
    client(script).documents.create(title="Boiler manual", idempotency_key="stored-before")
    assert script.requests[0].headers["Idempotency-Key"] == "stored-before"


def test_an_earlier_attempt_that_runs_is_waited_for() -> None:
    running = refusal(409, "idempotency_in_progress", retry_after="1")
    script = Script([running] * 6 + [httpx.Response(201, json=DOCUMENT)])
    client(script).documents.create(title="Boiler manual")
    assert script.waits == [1] * 6


def test_a_post_without_a_key_is_sent_once() -> None:
    script = Script([refusal(503, "unavailable")])
    with pytest.raises(keepsake.ServerError):
        client(script).auth.login("ada@example.org", "a long password")
    assert len(script.requests) == 1


def test_an_erasure_is_sent_once() -> None:
    script = Script([httpx.ReadError("reset")])
    with pytest.raises(keepsake.ConnectionFailedError):
        client(script).subjects.erase("p-4711")
    assert len(script.requests) == 1


def test_a_refresh_is_repeated_for_eight_seconds() -> None:
    script = Script([refusal(503, "unavailable", retry_after="9")])
    with pytest.raises(keepsake.ServerError):
        client(script).auth.refresh("r")
    assert script.waits == []


def test_errors_have_what_the_server_said() -> None:
    details = {"field": "rateLimit.requestsPerMinute", "issue": "too_large"}
    script = Script([refusal(400, "validation_error", details)])
    with pytest.raises(keepsake.BadRequestError, match=r"rateLimit.requestsPerMinute: too_large") as caught:
        client(script).api_keys.create(name="crawler", scopes=["read"])
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
def test_errors_have_a_class(status: int, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        client(Script([refusal(status, "code")])).documents.get("boiler")


def test_an_ended_version_names_its_replacement() -> None:
    body = {
        "error": "version_sunset",
        "message": "It ended.",
        "requestId": "req_1",
        "migrationGuideUrl": "https://g",
        "replacementVersion": "2",
    }
    with pytest.raises(keepsake.VersionEndedError) as caught:
        client(Script([httpx.Response(410, json=body)])).documents.get("boiler")
    assert (caught.value.replacement_version, caught.value.migration_guide_url) == ("2", "https://g")


@pytest.mark.parametrize("status", [200, 404, 500])
def test_a_page_of_another_server_is_one_clear_error(status: int) -> None:
    script = Script([httpx.Response(status, html="<h1>secret</h1>")])
    with pytest.raises(keepsake.UnexpectedAnswerError) as caught:
        client(script).documents.get("boiler")
    assert str(caught.value) == (
        f"GET https://search.example.org/api/v1/documents/boiler: the answer, {status} with text/html, is not one of Keepsake: "
        "another server or a proxy answered; check the address of the client"
    )
    assert len(script.requests) == 1


def test_a_page_of_a_proxy_without_a_server_is_repeated() -> None:
    script = Script([httpx.Response(502, html="<h1>Bad gateway</h1>")])
    with pytest.raises(keepsake.UnexpectedAnswerError, match="a proxy answered, because it could not reach the server"):
        client(script).documents.get("boiler")
    assert len(script.requests) == 4


def test_json_of_another_server_is_one_clear_error() -> None:
    with pytest.raises(keepsake.UnexpectedAnswerError, match="does not have the form"):
        client(Script([httpx.Response(200, json={"id": 5, "tags": "x"})])).documents.get("boiler")


@pytest.mark.parametrize("other", [{}, {"ok": True}, [], "text"])
def test_json_with_no_known_field_is_one_clear_error(other: object) -> None:
    with pytest.raises(keepsake.UnexpectedAnswerError, match="does not have the form"):
        client(Script([httpx.Response(200, json=other)])).documents.get("boiler")


def test_a_limit_of_a_proxy_is_waited_for_unless_it_is_long() -> None:
    page = httpx.Response(429, html="<h1>Slow down</h1>", headers={"Retry-After": "7"})
    script = Script([page, httpx.Response(201, json=DOCUMENT)])
    client(script).documents.create(title="Boiler manual")
    assert script.waits == [7]
    script = Script([httpx.Response(429, html="<h1>Slow down</h1>", headers={"Retry-After": "3600"})])
    with pytest.raises(keepsake.UnexpectedAnswerError, match="429 with text/html") as caught:
        client(script).documents.get("boiler")
    assert (caught.value.retry_after, script.waits) == (3600, [])


def test_an_error_that_a_newer_server_invented_is_an_error() -> None:
    script = Script([refusal(451, "novel_code", {"field": "title", "issue": "novel_issue"})])
    with pytest.raises(keepsake.APIError, match="title: novel_issue") as caught:
        client(script).documents.get("boiler")
    assert (caught.value.status, caught.value.code, len(script.requests)) == (451, "novel_code", 1)


def test_a_value_that_a_newer_server_invented_is_kept() -> None:
    health = {"status": "excellent", "version": "9", "time": "2026-11-23T15:58:02.310Z", "novel": [1]}
    assert (client(Script([httpx.Response(200, json=health)])).health()).status == "excellent"


def test_a_field_that_an_older_server_does_not_know_is_named() -> None:
    script = Script([refusal(400, "validation_error", {"field": "timeZone", "issue": "unknown"})])
    with pytest.raises(keepsake.BadRequestError, match=r"timeZone: unknown.*older than this client"):
        client(script).memories.recall("tea", subject_id="p-4711", time_zone="UTC")


def test_half_an_answer_is_one_clear_error() -> None:
    half = httpx.Response(200, content=b'{"id": "boi', headers={"Content-Type": "application/json"})
    with pytest.raises(keepsake.UnexpectedAnswerError, match="not whole JSON"):
        client(Script([half])).documents.get("boiler")


def test_a_newer_server_can_answer_more() -> None:
    newer = DOCUMENT | {"inventedLater": "en"}
    found = client(Script([httpx.Response(200, json=newer)])).documents.get("boiler")
    assert found.title == "Boiler manual"
    assert found.model_extra == {"inventedLater": "en"}


def test_an_older_server_can_answer_less() -> None:
    older = {k: v for k, v in DOCUMENT.items() if k not in {"url", "tags", "metadata", "revision", "updatedAt"}}
    found = client(Script([httpx.Response(200, json=older)])).documents.get("boiler")
    assert (found.title, found.url, found.tags, found.metadata, found.revision) == ("Boiler manual", None, [], {}, 0)
    assert found.updated_at.year == 1


def test_no_connection_is_one_clear_error() -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)

    with Client("http://127.0.0.1:9", "kpsk_x", sleep=sleep) as c:
        with pytest.raises(
            keepsake.ConnectionFailedError, match=r"^GET http://127.0.0.1:9/api/v1/health: no connection"
        ) as caught:
            c.health()
    assert len(waits) == 3 and not caught.value.sent


def test_an_unknown_host_is_not_asked_again() -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)

    with Client("http://keepsake.invalid", sleep=sleep) as c:
        with pytest.raises(keepsake.ConnectionFailedError, match="no connection"):
            c.health()
    assert waits == []


def test_no_answer_in_time_is_an_error() -> None:
    script = Script([httpx.ReadTimeout("slow")])
    with pytest.raises(keepsake.TimedOutError, match="no answer in time"):
        client(script).documents.create(title="a")
    assert len(script.requests) == 4


def test_errors_do_not_contain_the_query() -> None:
    with pytest.raises(keepsake.ConnectionFailedError) as caught:
        client(Script([httpx.ReadError("reset")])).memories.list(subject_id="p-4711")
    assert "p-4711" not in str(caught.value)


def test_a_redirect_to_another_origin_is_not_followed() -> None:
    script = Script([httpx.Response(307, headers={"Location": "https://elsewhere.example.org/api/v1/health"})])
    with pytest.raises(keepsake.RedirectError, match="redirects to https://elsewhere.example.org; nothing was sent there"):
        client(script).health()
    assert [r.url.host for r in script.requests] == ["search.example.org"]


def test_a_redirect_of_a_client_that_follows_them_is_not_followed() -> None:
    script = Script([httpx.Response(302, headers={"Location": "http://search.example.org/"})])
    http = httpx.Client(transport=script.transport, follow_redirects=True)
    with pytest.raises(keepsake.RedirectError):
        Client("https://search.example.org", "kpsk_x", http_client=http).health()
    assert len(script.requests) == 1


def test_a_redirect_within_the_origin_is_followed() -> None:
    script = Script([httpx.Response(308, headers={"Location": "/v/api"}), httpx.Response(200, json=DOCUMENT)])
    client(script).documents.put("boiler", title="a")
    assert [r.url.path for r in script.requests] == ["/api/v1/documents/boiler", "/v/api"]
    assert script.requests[1].content == b'{"title":"a"}'


def test_redirects_end() -> None:
    script = Script([httpx.Response(302, headers={"Location": "/again"})])
    with pytest.raises(keepsake.RedirectError, match="stopped after 10 redirects"):
        client(script).health()


def test_a_deprecated_version_is_warned_of_once() -> None:
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
        c.documents.get("boiler")
        c.documents.get("boiler")
    assert [w.category for w in caught] == [keepsake.DeprecatedVersionWarning]
    assert (
        str(caught[0].message)
        == "version 1 of the API is deprecated and ends on Tue, 01 Jun 2027 00:00:00 GMT; version 2 replaces it"
    )
    assert caught[0].filename == __file__


def test_limits_are_those_of_the_last_answer() -> None:
    headers = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1795449600"}
    headers |= {"X-RateLimit-Daily-Remaining": "9", "X-RateLimit-Monthly-Remaining": "99"}
    of_key = headers | {"X-RateLimit-Key-Limit": "30", "X-RateLimit-Key-Remaining": "29"}
    script = Script([httpx.Response(200, json=DOCUMENT, headers=headers), httpx.Response(200, json=DOCUMENT, headers=of_key)])
    c = client(script)
    assert c.rate_limits is None
    c.documents.get("boiler")
    assert c.rate_limits is not None and c.rate_limits.key is None and c.rate_limits.reset_at.year == 2026
    c.documents.get("boiler")
    assert c.rate_limits.key == keepsake.KeyRateLimits(30, 29)


def test_pages_are_read_when_they_are_needed() -> None:
    pages = [{"items": [DOCUMENT, DOCUMENT], "nextCursor": "c1"}, {"items": [DOCUMENT], "nextCursor": None}]
    script = Script([httpx.Response(200, json=page) for page in pages])
    found = [d.id for d in client(script).documents.each(tag=["a", "b"], limit=2)]
    assert found == ["boiler"] * 3
    assert [str(r.url.query, "ascii") for r in script.requests] == ["tag=a&tag=b&limit=2", "tag=a&tag=b&limit=2&cursor=c1"]


def test_a_change_leaves_out_what_is_not_set_and_removes_none() -> None:
    script = Script([httpx.Response(200, json=DOCUMENT)])
    client(script).documents.update("boiler", title=UNSET, url=None, metadata={"floor": None}, if_revision=3)
    assert json.loads(script.requests[0].content) == {"url": None, "metadata": {"floor": None}}
    assert script.requests[0].headers["If-Match"] == '"3"'


def test_what_is_none_is_left_out_of_other_requests() -> None:
    script = Script([httpx.Response(200, json={"results": [], "tookMs": 1, "degraded": []})])
    client(script).memories.recall("bike?", subject_id="p-4711", from_=datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert json.loads(script.requests[0].content) == {"query": "bike?", "subjectId": "p-4711", "from": "2026-01-01T00:00:00Z"}


def test_models_in_requests_have_the_names_of_json() -> None:
    script = Script([httpx.Response(200, json={"results": []})])
    client(script).memories.create_many([models.NewMemory(subject_id="p-4711", text="Her bicycle is green.")])
    assert json.loads(script.requests[0].content) == {"items": [{"subjectId": "p-4711", "text": "Her bicycle is green."}]}


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        client(Script([])).memories.list(from_=datetime(2026, 1, 1))


@pytest.mark.parametrize("url", ["search.example.org", "ftp://x", "https://", "https://x/api/v1", "https://x/api/"])
def test_wrong_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="the address must"):
        Client(url)


def test_a_key_with_a_line_break_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="line break") as caught:
        Client("https://x", "kpsk_secret\n")
    assert "secret" not in str(caught.value)


def test_an_empty_id_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        client(Script([])).documents.delete("")


def test_a_password_in_the_address_is_not_shown() -> None:
    script = Script([httpx.ReadError("reset")])
    c = Client("https://ada:secret@x.example.org", http_client=httpx.Client(transport=script.transport), retry=Retry(retries=0))
    with pytest.raises(keepsake.ConnectionFailedError, match=r"GET https://x.example.org/api") as caught:
        c.health()
    assert "secret" not in str(caught.value) + repr(c)


def test_options_are_those_of_the_new_client() -> None:
    script = Script([httpx.Response(204)])
    c = client(script)
    c.with_options(access_token="t", api_key="").auth.logout()
    c.documents.delete("a")
    assert [r.headers.get("Authorization") for r in script.requests] == ["Bearer t", None]
    assert [r.headers.get("X-API-Key") for r in script.requests] == [None, "kpsk_x"]


def line(**fields: Any) -> bytes:
    return json.dumps(DOCUMENT | fields).encode() + b"\n"


def test_an_export_is_a_stream_of_models(tmp_path: Any) -> None:
    text = line(id="a") + line(id="b")
    script = Script([refusal(503, "unavailable"), httpx.Response(200, content=text)])
    seen: list[int] = []
    c = client(script)
    assert [d.id for d in c.documents.export(progress=seen.append)] == ["a", "b"]
    assert seen[-1] == len(text)
    with open(tmp_path / "x", "wb") as file:
        assert c.documents.export_to(file) == len(text)
    assert (tmp_path / "x").read_bytes() == text


def test_a_connection_that_breaks_in_an_export_is_one_clear_error(serve: Any) -> None:
    def half(h: BaseHTTPRequestHandler) -> None:
        h.send_response(200)
        h.send_header("Content-Type", "application/x-ndjson")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        text = line(id="a") + line(id="b")[:20]
        h.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        h.close_connection = True

    found = []
    with Client(serve(half), "kpsk_x") as c:
        with pytest.raises(keepsake.ConnectionFailedError, match="the connection broke after 1 lines"):
            for d in c.documents.export():
                found.append(d.id)
    assert found == ["a"]


def test_a_connection_that_breaks_in_an_answer_is_repeated(serve: Any) -> None:
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

    def sleep(seconds: float) -> None:
        pass

    with Client(serve(first_half), "kpsk_x", sleep=sleep) as c:
        assert (c.documents.get("boiler")).id == "boiler"
    assert count == 2


def imported(received: int, **fields: Any) -> httpx.Response:
    counts = {"received": received, "created": received, "replaced": 0, "failed": 0, "deleted": 0, "errors": [], "issues": []}
    return httpx.Response(200, json=counts | fields)


def test_an_import_is_sent_in_parts() -> None:
    issue = {"field": "text", "issue": "required"}
    second = imported(2, created=1, failed=1, errors=[{"line": 2, "message": "No.", **issue}], issues=[{"count": 1, **issue}])
    script = Script([imported(5000), second])
    seen: list[int] = []
    source = ({"id": str(n), "title": "a"} for n in range(5002))
    total = client(script).documents.import_(source, progress=seen.append)
    assert (total.received, total.created, total.failed) == (5002, 5001, 1)
    assert [e.line for e in total.errors] == [5002]
    assert [len(r.content) for r in script.requests] == [seen[0], seen[1] - seen[0]]
    assert script.requests[0].headers["Idempotency-Key"] != script.requests[1].headers["Idempotency-Key"]


def test_an_import_that_ends_early_has_the_result_so_far() -> None:
    script = Script([imported(5000), refusal(507, "limit_reached")])
    with pytest.raises(keepsake.ImportInterruptedError, match=r"the lines before line 5001 were sent") as caught:
        client(script).documents.import_({"id": str(n)} for n in range(6000))
    assert (caught.value.line, caught.value.result.received) == (5001, 5000)
    assert isinstance(caught.value.__cause__, keepsake.APIError)


def test_a_connection_that_is_cut_in_an_import_is_one_clear_error() -> None:
    script = Script([imported(5000), httpx.RemoteProtocolError("cut")])
    with pytest.raises(keepsake.ImportInterruptedError, match=r"before line 5001 were sent.*connection broke") as caught:
        client(script).documents.import_({"id": str(n)} for n in range(6000))
    assert (caught.value.line, caught.value.result.received, len(script.requests)) == (5001, 5000, 5)
    assert isinstance(caught.value.__cause__, keepsake.ConnectionFailedError)
    assert len({r.headers["Idempotency-Key"] for r in script.requests[1:]}) == 1


def test_memories_without_ids_are_sent_without_a_key() -> None:
    script = Script([refusal(503, "unavailable")])
    with pytest.raises(keepsake.ServerError):
        client(script).memories.import_([models.NewMemory(subject_id="p-4711", text="a")])
    assert len(script.requests) == 1 and "Idempotency-Key" not in script.requests[0].headers


def test_an_import_that_replaces_is_one_request() -> None:
    script = Script([imported(6000, deleted=2)])
    source = [{"name": str(n)} for n in range(6000)]
    total = client(script).documents.import_(source, id="name", into="bread", replace=True)
    assert (total.received, total.deleted) == (6000, 2)
    assert [r.url.query for r in script.requests] == [b"id=name&into=bread&replace=true"]
    with pytest.raises(keepsake.ImportTooLargeError):
        client(script).documents.import_([b"x" * (4_000_000)] * 17, into="bread", replace=True)


@pytest.mark.parametrize("text", [b'{"id":"a"}\n{"id":"b"}', b'\xef\xbb\xbf [{"id":"a"},\n{"id":"b"}]'])
def test_files_have_lines_or_an_array(tmp_path: Any, text: bytes) -> None:
    path = tmp_path / "documents"
    path.write_bytes(text)
    script = Script([imported(2)])
    with open(path, "rb") as file:
        client(script).documents.import_(file)
    assert script.requests[0].content == b'{"id":"a"}\n{"id":"b"}\n'


def test_a_line_of_any_length_is_refused() -> None:
    with pytest.raises(keepsake.LineTooLongError, match="line 2 is longer"):
        client(Script([imported(1)])).documents.import_([b"{}\n", b"x" * (4 << 20)])


def test_a_path_is_no_source() -> None:
    with pytest.raises(TypeError, match="an open file"):
        client(Script([])).documents.import_("documents.ndjson")


def test_tables_are_texts() -> None:
    script = Script([httpx.Response(200, text="requests\n5\n", headers={"Content-Type": "text/csv"})])
    assert client(script).analytics.summary_csv(window="7d") == "requests\n5\n"
    assert script.requests[0].url.query == b"window=7d&format=csv"
