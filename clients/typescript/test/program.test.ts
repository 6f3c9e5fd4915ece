// The client on the program that KEEPSAKE_URL names, with the key of its first start. It must be for these tests only.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ApiError, Keepsake, KeepsakeAgent, KeepsakeBackend, verifyReceipt, verifyWebhook, type WebhookEvent } from "@keepsake/client";

const url = process.env["KEEPSAKE_URL"] ?? "";
const apiKey = process.env["KEEPSAKE_KEY"] ?? "";
const program = { skip: url === "" && "KEEPSAKE_URL names no program" };
const keepsake = new Keepsake({ url: url === "" ? "http://127.0.0.1:1" : url, apiKey });

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

test("documents go in, are found, change and go", program, async () => {
  const put = await keepsake.documents.put("ferry", { collection: "ts", title: "The ferry", text: "It leaves at eight.", tags: ["sea"], metadata: { days: 3.5, open: true } });
  assert.equal(put.revision, 1);
  const changed = await keepsake.documents.update("ferry", { title: "The new ferry", metadata: { open: null } }, { ifRevision: 1 });
  assert.deepEqual([changed.title, changed.revision, changed.metadata], ["The new ferry", 2, { days: 3.5 }]);
  await assert.rejects(async () => await keepsake.documents.update("ferry", { title: "late" }, { ifRevision: 1 }), { status: 412, code: "revision_mismatch" });
  const made = await keepsake.documents.create({ title: "A harbour", collection: "ts" }, { idempotencyKey: "ts-harbour-1" });
  const again = await keepsake.documents.create({ title: "A harbour", collection: "ts" }, { idempotencyKey: "ts-harbour-1" });
  assert.equal(again.id, made.id);
  const result = await keepsake.documents.import([{ id: "night", title: "A harbour at night", collection: "ts" }, {}]);
  assert.deepEqual([result.received, result.created, result.failed, result.errors[0]?.line], [2, 1, 1, 2]);
  const csv = await keepsake.documents.importCsv("sku,name\n7,Harbour tea\n", { rows: { id: "sku", title: "name", into: "ts" } });
  assert.equal(csv.created, 1);
  const found = await all(keepsake.search({ q: "harbour", collection: "ts", limit: 1 }));
  assert.deepEqual(found.map((r) => r.id).sort(), ["7", "night", made.id].sort());
  assert.ok((await keepsake.search("harbour", { timeoutMs: 30_000 })).total >= 3);
  assert.equal((await keepsake.searchMany([{ q: "ferry" }, { q: "night" }])).results.length, 2);
  const exported = await all(keepsake.documents.export({ collection: "ts" }));
  assert.deepEqual(exported.map((d) => d.id).sort(), ["7", "ferry", "night", made.id].sort());
  assert.equal((await all(keepsake.documents.list({ collection: "ts", limit: 2 }))).length, 4);
  assert.deepEqual(await keepsake.documents.deleteMany({ collection: "ts" }), { matched: 4, deleted: 0 });
  await keepsake.documents.delete("ferry");
  await assert.rejects(async () => await keepsake.documents.get("ferry"), { name: "ApiError", status: 404, code: "not_found" });
  const settings = await keepsake.collections.put("ts", { language: "en" });
  assert.equal(settings.language, "en");
  await keepsake.collections.delete("ts");
  assert.ok((await keepsake.collections.languages()).some((l) => l.language === "en"));
});

test("memories are recalled, exported, forgotten and erased with a receipt", program, async () => {
  const subjectId = "ts-p-4711";
  const { results } = await keepsake.memories.createMany(["Her bicycle is green.", "She drinks tea without sugar."].map((text) => ({ subjectId, text })));
  assert.equal(results.length, 2);
  const recalled = await keepsake.memories.recall({ subjectId, query: "what colour is the bike?", limit: 1 });
  assert.equal(recalled.results[0]?.memory.text, "Her bicycle is green.");
  assert.match((await keepsake.memories.context({ subjectId, query: "tea" })).text, /without sugar/);
  const lines = await all(keepsake.subjects.export(subjectId).text());
  assert.equal(lines.length, 2);
  assert.equal((await keepsake.memories.import(lines.join("\n"))).unchanged, 2);
  const plan = await keepsake.memories.planForget({ subjectId, query: "bicycle" });
  assert.equal(plan.memoryIds.length, 1);
  assert.equal(await keepsake.memories.forget({ subjectId, planId: plan.planId }), 1);
  assert.ok((await all(keepsake.subjects.accessLog(subjectId, { limit: 3 }))).length > 3);
  const receipt = await keepsake.subjects.erase(subjectId);
  assert.equal(receipt.memories, 1);
  const keys = await keepsake.auth.signingKeys();
  assert.match((await verifyReceipt(receipt, keys)).workspaceId, /^wsp_/);
  await assert.rejects(verifyReceipt({ ...receipt, memories: 2 }, keys), /memories differs/);
  const [head, , signature] = receipt.signature.split(".");
  await assert.rejects(verifyReceipt({ ...receipt, signature: `${head}.${btoa("{}").replace(/=/g, "")}.${signature}` }, keys), /was changed/);
  await assert.rejects(verifyReceipt(receipt, []), /not one of the given keys/);
});

test("a key is created, bound, verified, rotated and revoked", program, async () => {
  const created = await keepsake.apiKeys.create({ name: "ts", scopes: ["memory:read", "memory:write"], subjectId: "ts-bound", rateLimit: { requestsPerMinute: 20 } });
  const agent = new KeepsakeAgent({ url, token: created.key ?? "" });
  await agent.remember({ text: "She drinks tea." });
  assert.equal((await agent.recall({ query: "tea" })).results.length, 1);
  assert.match((await agent.context({})).text, /tea/);
  assert.equal(agent.rateLimits?.key?.limit, 20);
  assert.equal((await keepsake.apiKeys.verify({ key: created.key ?? "", consume: false })).code, "VALID");
  const backend = new KeepsakeBackend({ url: process.env["KEEPSAKE_BACKEND_URL"] ?? "", secret: process.env["KEEPSAKE_BACKEND_SECRET"] });
  assert.equal((await backend.verify({ key: created.key ?? "" })).keyId, created.id);
  const served = { id: "ts-1", keyId: created.id, route: "GET /orders", status: 200, count: 2, at: new Date().toISOString() };
  assert.equal((await backend.reportUsage([served])).accepted, 1);
  const rotated = await keepsake.apiKeys.rotate(created.id, { graceSeconds: 60 });
  assert.notEqual(rotated.key, created.key);
  await keepsake.apiKeys.completeRotation(created.id);
  assert.equal((await keepsake.apiKeys.revoke(created.id, "over")).state, "revoked");
  await assert.rejects(async () => await new Keepsake({ url, apiKey: rotated.key ?? "" }).apiKeys.whoami(), (error: ApiError) => {
    assert.deepEqual([error.status, error.code], [401, "api_key_revoked"]);
    assert.notEqual(error.requestId, "");
    return true;
  });
  await keepsake.apiKeys.delete(created.id);
});

test("a user signs in, refreshes and signs out", program, async () => {
  const tokens = await keepsake.auth.login("admin@localhost", process.env["KEEPSAKE_PASSWORD"] ?? "");
  const next = await keepsake.auth.refresh(tokens.refreshToken);
  const user = keepsake.withToken(next.accessToken);
  assert.equal((await user.profile.get()).email, "admin@localhost");
  await user.auth.logout();
  await assert.rejects(async () => await user.profile.get(), { status: 401 });
});

test("a delivery of a webhook arrives with a signature that is valid", program, async (t) => {
  const received: PromiseWithResolvers<{ event: WebhookEvent }> = withResolvers();
  let secret = "";
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      response.end();
      verifyWebhook(Buffer.concat(pieces), request.headers, secret).then((event) => received.resolve({ event }), received.reject);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const webhook = await keepsake.webhooks.create({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, events: ["api_key.created"] });
  secret = webhook.secret ?? "";
  await keepsake.webhooks.ping(webhook.id);
  assert.equal((await received.promise).event.type, "webhook.ping");
  assert.equal((await all(keepsake.webhooks.deliveries.list(webhook.id))).length, 1);
  await keepsake.webhooks.delete(webhook.id);
});

function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve!: (value: T | PromiseLike<T>) => void;
  let reject!: (reason?: unknown) => void;
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

interface PromiseWithResolvers<T> {
  promise: Promise<T>;
  resolve: (value: T | PromiseLike<T>) => void;
  reject: (reason?: unknown) => void;
}

test("an administrator sees users, workspaces, tiers, usage, versions and the log", program, async () => {
  const user = await keepsake.users.create({ email: "ts@example.org", role: "viewer" });
  assert.equal((await keepsake.users.update(user.id, { role: "member" })).role, "member");
  assert.match((await keepsake.users.createSetupLink(user.id)).expiresAt, /^20/);
  await keepsake.users.delete(user.id);
  const workspace = await keepsake.workspaces.create({ name: "ts" });
  assert.equal((await keepsake.workspaces.update(workspace.id, { tier: "pro" })).tier, "pro");
  assert.ok((await all(keepsake.workspaces.list())).length >= 2);
  assert.ok((await all(keepsake.tiers.list())).some((tier) => tier.name === "free"));
  assert.ok((await keepsake.analytics.summary({ window: "1h" })).requests >= 0);
  assert.match(await keepsake.analytics.table("summary", { window: "1h" }), /,/);
  await keepsake.analytics.top({ window: "1h", groupBy: ["route", "key"] });
  await keepsake.analytics.quotas();
  assert.equal((await keepsake.versions.published())[0]?.state, "active");
  assert.equal((await keepsake.versions.get(1)).version, "1");
  assert.ok((await all(keepsake.auditLog.export({ action: "user.created" }))).length >= 1);
  assert.equal((await keepsake.auditLog.verify()).break, null);
  assert.ok((await keepsake.admin.cacheStats()).caches.length > 0);
  assert.equal((await keepsake.health()).status, "healthy");
});

test("an error of the program names the field, and another version or path", program, async () => {
  await assert.rejects(async () => await keepsake.apiKeys.create({ name: "x", scopes: ["reed" as "read"] }), { code: "validation_error", field: "scopes[0]", issue: "not_allowed" });
  await assert.rejects(async () => await keepsake.search({ q: "x", novel: 1 } as { q: string }), { field: "novel", issue: "unknown" });
  await assert.rejects(async () => await new Keepsake({ url: `${url}/docs` }).health(), { name: "UnexpectedAnswerError" });
  await assert.rejects(async () => await new Keepsake({ url }).documents.list(), { code: "missing_credentials" });
});
