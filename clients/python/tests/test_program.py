# Written by clients/python/tools/generate.py from the module for asyncio. Run `make clients` instead of changing it.

"""The clients on a running server, which KEEPSAKE_URL names. clients/suite_test.go starts it."""

from __future__ import annotations

import io
import json
import time
import uuid
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler
from queue import Queue
from typing import Any

import pytest

import keepsake
from keepsake import Agent, Backend, Client, models, webhooks
from tests.conftest import Program

pytestmark = pytest.mark.anyio


def connect(program: Program) -> Client:
    return Client(program.url, program.key)


def unique(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def test_documents(program: Program) -> None:
    name = unique("bread")
    with connect(program) as c:
        made = c.documents.put(name, collection=name, title="Rye", metadata={"floor": 2, "big": 1 << 60}, tags=["a"])
        assert (made.revision, made.metadata, made.url) == (1, {"floor": 2, "big": 1 << 60}, None)
        changed = c.documents.update(name, url="https://example.org/rye", metadata={"floor": None}, if_revision=1)
        assert (changed.revision, changed.metadata) == (2, {"big": 1 << 60})
        with pytest.raises(keepsake.RevisionMismatchError):
            c.documents.update(name, title="Late", if_revision=1)
        with pytest.raises(keepsake.ConflictError):
            c.documents.create(id=name, title="Again")
        with pytest.raises(keepsake.BadRequestError) as caught:
            c.documents.create(title=" ")
        assert caught.value.issue == "required" and caught.value.request_id
        ids = [(c.documents.create(collection=name, title=t)).id for t in ("spelt", "wheat")]
        assert {d.id for d in c.documents.each(collection=name, limit=2)} == {name, *ids}
        assert (c.documents.list(collection=name, limit=1)).next_cursor
        found = c.search("spelt", collection=name, facets=["tag"])
        assert [r.id for r in found.results] == ids[:1]
        assert len([r for r in c.each_result("rye spelt wheat", collection=name, limit=1)]) == 3
        both = c.search_many([models.Query(q="spelt", collection=name), models.Query(q="", collection=name)])
        assert [type(r) for r in both] == [models.Found, models.ErrorBody]
        assert (c.documents.delete_many(collection=name, dry_run=True)).matched == 3
        c.documents.delete(name, if_revision=2)
        with pytest.raises(keepsake.NotFoundError):
            c.documents.get(name)
        assert c.rate_limits is not None and c.rate_limits.key is not None


def test_imports_and_exports(program: Program) -> None:
    name = unique("ferry")
    with connect(program) as c:
        source: list[Any] = [{"id": f"{name}-{n}", "title": f"Ferry {n}", "collection": name} for n in range(3)]
        total = c.documents.import_([*source, {"id": f"{name}-x"}, models.NewDocument(title="n", collection=name)])
        assert (total.received, total.created, total.failed) == (5, 4, 1)
        assert [e.line for e in total.errors] == [4] and sum(i.count for i in total.issues) == 1
        file = io.BytesIO()
        size = c.documents.export_to(file, collection=name)
        lines = file.getvalue().splitlines()
        assert size == len(file.getvalue()) and len(lines) == 4
        titles = {d.title for d in c.documents.export(collection=name)}
        assert titles == {json.loads(line)["title"] for line in lines}
        again = c.documents.import_(io.BytesIO(file.getvalue()))
        assert (again.received, again.failed) == (4, 0)
        rows = [{"name": "Ferry to Iona", "notes": "At eight."}]
        kept = c.documents.import_(rows, title="name", text="notes", into=name, replace=True)
        assert (kept.created, kept.deleted) == (1, 4)
        assert [d.text for d in c.documents.export(collection=name)] == ["At eight."]


def test_memories(program: Program) -> None:
    person = unique("p")
    with connect(program) as c:
        made = c.memories.create("Her bicycle is green.", subject_id=person, kind="fact")
        assert (made.subject_id, made.kind) == (person, "fact") and not made.deduplicated
        key = unique("visit")
        a = c.memories.create("She came for a check-up.", subject_id=person, kind="event", idempotency_key=key)
        b = c.memories.create("She came for a check-up.", subject_id=person, kind="event", idempotency_key=key)
        assert a.id == b.id
        many = c.memories.create_many([models.NewMemory(subject_id=person, text="She drinks tea.", pinned=True)])
        assert [r.status for r in many] == [201]
        found = c.memories.recall("What colour is the bike?", subject_id=person, limit=1, explain=True)
        assert found.results[0].memory.id == made.id and found.results[0].why is not None
        packed = c.memories.context("bike", subject_id=person, max_tokens=200)
        assert "green" in packed.text and packed.parts.pinned
        assert len([m for m in c.memories.each(subject_id=person, limit=1)]) == 3
        changed = c.memories.update(made.id, text="Her bicycle is blue.", if_revision=made.revision)
        assert len([r for r in c.memories.each_revision(changed.id)]) == 2
        plan = c.memories.plan_forget(subject_id=person, query="tea")
        assert c.memories.forget(plan.plan_id, subject_id=person) == len(plan.memory_ids) == 1
        assert (c.subjects.get(person)).memories == 2
        assert any([s.subject_id == person for s in c.subjects.each()])
        assert [m.text for m in c.subjects.export(person)][0] == "Her bicycle is blue."
        assert any([entry.action == "memory.recalled" for entry in c.subjects.each_access(person)])
        c.memories.delete(a.id)
        receipt = c.subjects.erase(person)
        assert receipt.memories == 1 and receipt.live_key_destroyed
        keys = c.auth.signing_keys()
        signer = keepsake.verify_receipt(receipt, keys)
        assert signer.workspace_id.startswith("wsp_")
        with pytest.raises(keepsake.InvalidSignatureError, match="memories differs"):
            keepsake.verify_receipt(receipt.model_copy(update={"memories": 2}), keys)
        with pytest.raises(keepsake.InvalidSignatureError, match="not one of the given keys"):
            keepsake.verify_receipt(receipt, [])


def test_memories_move(program: Program) -> None:
    person = unique("p")
    with connect(program) as c:
        total = c.memories.import_([models.NewMemory(subject_id=person, text="She sails.")])
        assert (total.created, total.unchanged, total.failed) == (1, 0, 0)
        file = io.BytesIO()
        c.subjects.export_to(person, file)
        again = c.memories.import_(file.getvalue())
        assert (again.created, again.unchanged) == (0, 1)


def test_api_keys(program: Program) -> None:
    end = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=1)
    with connect(program) as c:
        made = c.api_keys.create(
            name="crawler",
            scopes=["read", "developer:manage"],
            expires_at=end,
            rate_limit=models.NewRateLimit(requests_per_minute=20),
            quota=models.NewQuota(daily=100),
        )
        assert made.key is not None and made.key.startswith("kpsk_")
        assert (made.expires_at, made.rate_limit.requests_per_minute, made.rate_limit.inherited) == (end, 20, False)
        changed = c.api_keys.update(made.id, name="renamed", expires_at=None, rate_limit=None, if_revision=made.revision)
        assert (changed.expires_at, changed.rate_limit.inherited, changed.quota and changed.quota.daily) == (None, True, 100)
        with Client(program.url, made.key) as other:
            assert (other.whoami()).id == made.id
            with pytest.raises(keepsake.PermissionDeniedError) as refused:
                other.documents.create(title="a")
            assert refused.value.required_scope == "write"
        assert (c.api_keys.limits(made.id)).quota is not None
        assert (c.api_keys.usage(made.id, window="1h")).points
        assert (c.api_keys.verify(made.key, consume=False)).code == "VALID"
        rotated = c.api_keys.rotate(made.id, grace_seconds=60)
        assert rotated.key and rotated.key != made.key
        assert (c.api_keys.complete_rotation(made.id)).state == "active"
        assert any([k.id == made.id for k in c.api_keys.each(state="active")])
        assert (c.api_keys.revoke(made.id, reason="over")).revoke_reason == "over"
        c.api_keys.delete(made.id)
        with Client(program.url, rotated.key) as other:
            with pytest.raises(keepsake.AuthenticationError) as revoked:
                other.whoami()
            assert revoked.value.code == "api_key_revoked"


def test_users(program: Program) -> None:
    with connect(program) as c:
        email = unique("ada") + "@example.org"
        user = c.users.create(email=email, role="viewer")
        assert (c.users.get(user.id)).email == email
        assert (c.users.update(user.id, role="member")).role == "member"
        assert (c.users.create_setup_link(user.id)).url
        assert any([u.id == user.id for u in c.users.each()])
        c.users.delete(user.id)
        signed_in = c.auth.login("admin@localhost", program.password)
        me = c.with_options(api_key="", access_token=signed_in.access_token)
        assert (me.profile.update(name="Ada")).name == "Ada"
        assert (me.profile.get()).email == "admin@localhost"
        refreshed = c.auth.refresh(signed_in.refresh_token)
        c.with_options(api_key="", access_token=refreshed.access_token).auth.logout()
        with pytest.raises(keepsake.AuthenticationError):
            me.profile.get()
        with pytest.raises(keepsake.AuthenticationError):
            c.auth.login("admin@localhost", "not the password")


def test_administration(program: Program) -> None:
    with connect(program) as c:
        assert (c.health()).status == "healthy"
        assert (c.cache_stats()).caches
        made = c.workspaces.create(name=unique("customer"), tier="free")
        assert (c.workspaces.get(made.id)).name == made.name
        assert (c.workspaces.update(made.id, name="renamed")).name == "renamed"
        assert any([w.id == made.id for w in c.workspaces.each()])
        tier = [t for t in c.tiers.each()][0]
        changed = c.tiers.put(
            tier.name, requests_per_minute=tier.requests_per_minute, daily=tier.daily, monthly=tier.monthly, keys=tier.keys
        )
        assert (changed.keys, changed.documents) == (tier.keys, None)
        one_by_one = [e for e in c.audit_log.each(action="workspace.created", limit=1)]
        exported = [e for e in c.audit_log.export(action="workspace.created")]
        assert [e.id for e in one_by_one] == [e.id for e in exported]
        assert made.id in [e.target for e in exported]
        assert (c.audit_log.verify()).ok
        assert (c.versions.list())[0].version == "1"
        record = c.versions.get_record(1)
        assert record.version == "1" and [r for r in c.versions.each_record()]
        assert (c.versions.list_callers(1)).items is not None
        assert (c.collections.list()).items is not None and (c.languages.list()).items


def test_analytics(program: Program) -> None:
    with connect(program) as c:
        c.whoami()
        assert (c.analytics.summary(window="1h")).requests >= 0
        assert (c.analytics.series(window="1h", group_by=["route"])).interval
        assert isinstance(c.analytics.top(window="1h", group_by=["route"]), list)
        assert (c.analytics.quotas()).daily.used >= 0
        assert isinstance(c.analytics.versions(window="1h"), list)
        assert isinstance(c.analytics.errors(window="1h"), list)
        assert isinstance([r for r in c.analytics.each_request(window="1h", limit=200)], list)
        assert (c.analytics.summary_csv(window="1h")).startswith("from,")


def test_webhooks(program: Program, serve: Any) -> None:
    deliveries: Queue[tuple[dict[str, str], bytes]] = Queue()

    def receive(h: BaseHTTPRequestHandler) -> None:
        deliveries.put((dict(h.headers), h.rfile.read(int(h.headers["Content-Length"]))))
        h.send_response(204)
        h.end_headers()

    with connect(program) as c:
        hook = c.webhooks.create(url=serve(receive, raw=True) + "/hook", events=["api_key.created"])
        try:
            assert hook.secret is not None
            ping = c.webhooks.ping(hook.id)
            headers, body = deliveries.get(timeout=30)
            event = webhooks.verify(body, headers, hook.secret)
            assert (event.type, event.id) == ("webhook.ping", ping.event_id)
            with pytest.raises(keepsake.InvalidSignatureError):
                webhooks.verify(body + b" ", headers, hook.secret)
            with pytest.raises(keepsake.InvalidSignatureError, match="too old"):
                webhooks.verify(body, headers, hook.secret, clock=lambda: time.time() + 301)
            rotated = c.webhooks.rotate_secret(hook.id)
            c.webhooks.replay_delivery(hook.id, ping.id)
            headers, body = deliveries.get(timeout=30)
            assert rotated.secret is not None
            for secret in (hook.secret, rotated.secret):
                webhooks.verify(body, headers, secret)
            assert (c.webhooks.get_delivery(hook.id, ping.id)).event == "webhook.ping"
            assert [d for d in c.webhooks.each_delivery(hook.id)]
            assert (c.webhooks.update(hook.id, description="Test")).description == "Test"
            assert any([w.id == hook.id for w in c.webhooks.each()])
        finally:
            c.webhooks.delete(hook.id)


def test_agents(program: Program) -> None:
    person = unique("p")
    with connect(program) as c:
        key = c.api_keys.create(name="assistant", scopes=["memory:read", "memory:write"], subject_id=person)
    assert key.key is not None
    with Agent(program.url, key.key) as agent:
        agent.remember("She drinks tea without sugar.", kind="preference")
        prompt = agent.context("What does she drink?", max_tokens=200)
        assert "without sugar" in prompt.text
        with pytest.raises(keepsake.NotFoundError):
            agent.recall("What does she drink?", subject_id=unique("p"))


def test_backends(program: Program) -> None:
    with Backend(program.backend_url, program.backend_secret) as backend:
        verified = backend.verify_api_key(program.key, required_scopes=["read"], consume=False)
        assert verified.code == "VALID" and verified.key_id is not None
        served = models.ServedRequests(
            id=unique("orders"),
            key_id=verified.key_id,
            route="GET /orders/{id}",
            status=200,
            count=40,
            at=datetime.now(timezone.utc),
        )
        assert (backend.report_usage([served])).accepted == 1
        assert (backend.report_usage([served])).duplicates == 1
