// Every method sends the operation that it is for, with what it is given.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Keepsake, KeepsakeAgent, KeepsakeBackend, type CallOptions } from "@keepsake/client";
import { json, serve } from "./server.js";

interface Described {
  operationId: string;
  parameters?: { name?: string; $ref?: string }[];
}

const document = JSON.parse(await readFile(new URL("../../../../openapi/v1.json", import.meta.url), "utf8")) as {
  paths: Record<string, Record<string, Described>>;
};

// find returns the operation of a request: of the templates that match, the one with the fewest variables.
function find(method: string, path: string): Described | undefined {
  const found = Object.entries(document.paths)
    .filter(([template, methods]) => method.toLowerCase() in methods && new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path))
    .sort(([a], [b]) => a.split("{").length - b.split("{").length)[0];
  return found?.[1][method.toLowerCase()];
}

const keyed = (operation: Described) => operation.parameters?.some((p) => (p.name ?? p.$ref ?? "").replace("-", "").endsWith("IdempotencyKey")) ?? false;

// The calls, in the form of "operation: what it is called with".
const at = "2026-11-23T12:00:00Z";
const change = { ifRevision: 7 };
const calls: Record<string, (k: Keepsake, a: KeepsakeAgent, b: KeepsakeBackend) => PromiseLike<unknown>> = {
  getSigningKeys: (k) => k.auth.signingKeys(),
  login: (k) => k.auth.login("a@example.org", "password"),
  refreshToken: (k) => k.auth.refresh("token"),
  logout: (k) => k.auth.logout(),
  changePassword: (k) => k.auth.changePassword("old", "new"),
  getProfile: (k) => k.profile.get(),
  changeProfile: (k) => k.profile.update({ name: "Ada" }, change),
  health: (k) => k.health(),
  searchPost: (k) => k.search({ q: "tea" }),
  searchMulti: (k) => k.searchMany([{ q: "tea" }]),
  createDocument: (k) => k.documents.create({ title: "Tea" }),
  putDocument: (k) => k.documents.put("a b/c", { title: "Tea" }, change),
  getDocument: (k) => k.documents.get("tea"),
  changeDocument: (k) => k.documents.update("tea", { title: null }, change),
  deleteDocument: (k) => k.documents.delete("tea", change),
  deleteDocuments: (k) => k.documents.deleteMany({ ids: ["tea"], dryRun: false }),
  listDocuments: (k) => k.documents.list({ collection: "c", tag: ["a", "b"], limit: 1 }),
  importDocuments: (k) => k.documents.import([{ id: "tea" }]),
  exportDocuments: (k) => first(k.documents.export({ collection: "c" })),
  listCollections: (k) => k.collections.list(),
  getCollection: (k) => k.collections.get("c"),
  putCollection: (k) => k.collections.put("c", {}, change),
  deleteCollection: (k) => k.collections.delete("c", change),
  listLanguages: (k) => k.collections.languages(),
  createMemory: (k) => k.memories.create({ subjectId: "p", text: "Tea." }),
  createMemories: (k) => k.memories.createMany([{ subjectId: "p", text: "Tea." }], { atomic: true }),
  getMemory: (k) => k.memories.get("mem_1"),
  changeMemory: (k) => k.memories.update("mem_1", { text: "Coffee." }, change),
  deleteMemory: (k) => k.memories.delete("mem_1", change),
  listMemories: (k) => k.memories.list({ subjectId: "p" }),
  getMemoryHistory: (k) => k.memories.history("mem_1"),
  recall: (k) => k.memories.recall({ subjectId: "p", query: "tea?" }),
  recallContext: (k) => k.memories.context({ subjectId: "p" }),
  forgetMemories: (k) => k.memories.forget({ subjectId: "p", planId: "plan" }),
  importMemories: (k) => k.memories.import('{"id":"mem_1"}\n'),
  listSubjects: (k) => k.subjects.list(),
  getSubject: (k) => k.subjects.get("p"),
  eraseSubject: (k) => k.subjects.erase("p"),
  exportSubject: (k) => first(k.subjects.export("p")),
  listSubjectAccesses: (k) => k.subjects.accessLog("p"),
  createAPIKey: (k) => k.apiKeys.create({ name: "reader", scopes: ["read"] }),
  getAPIKey: (k) => k.apiKeys.get("key_1"),
  listAPIKeys: (k) => k.apiKeys.list(),
  changeAPIKey: (k) => k.apiKeys.update("key_1", { name: "x" }, change),
  rotateAPIKey: (k) => k.apiKeys.rotate("key_1", {}, change),
  completeAPIKeyRotation: (k) => k.apiKeys.completeRotation("key_1"),
  revokeAPIKey: (k) => k.apiKeys.revoke("key_1", "over"),
  deleteAPIKey: (k) => k.apiKeys.delete("key_1", change),
  getAPIKeyUsage: (k) => k.apiKeys.usage("key_1", "1h"),
  getAPIKeyLimits: (k) => k.apiKeys.limits("key_1"),
  whoami: (k) => k.apiKeys.whoami(),
  verifyAPIKey: (k) => k.apiKeys.verify({ key: "kpsk_x" }),
  getUsageSummary: (k) => k.analytics.summary({ window: "1h", groupBy: ["key", "route"] }),
  getUsageSeries: (k) => k.analytics.series(),
  getTopUsage: (k) => k.analytics.top(),
  getQuotaUsage: (k) => k.analytics.quotas(),
  getVersionUsage: (k) => k.analytics.versions(),
  listErrors: (k) => k.analytics.errors(),
  listRequests: (k) => k.analytics.requests({ requestId: "req_1" }),
  createUser: (k) => k.users.create({ email: "a@example.org", role: "viewer" }),
  getUser: (k) => k.users.get("usr_1"),
  listUsers: (k) => k.users.list(),
  changeUser: (k) => k.users.update("usr_1", { role: "admin" }, change),
  deleteUser: (k) => k.users.delete("usr_1", change),
  createSetupLink: (k) => k.users.createSetupLink("usr_1"),
  createWorkspace: (k) => k.workspaces.create({ name: "w" }),
  getWorkspace: (k) => k.workspaces.get("wsp_1"),
  listWorkspaces: (k) => k.workspaces.list(),
  changeWorkspace: (k) => k.workspaces.update("wsp_1", { name: "w" }, change),
  listTiers: (k) => k.tiers.list(),
  changeTier: (k) => k.tiers.put("free", { requestsPerMinute: 1, daily: 1, monthly: 1 }, change),
  listAuditLog: (k) => k.auditLog.list({ reads: true }),
  verifyAuditLog: (k) => k.auditLog.verify(),
  cacheStats: (k) => k.admin.cacheStats(),
  rotateSigningKey: (k) => k.admin.rotateSigningKey(),
  listVersions: (k) => k.versions.published(),
  listVersionRecords: (k) => k.versions.list(),
  getVersionRecord: (k) => k.versions.get(1),
  changeVersion: (k) => k.versions.update(1, { sunsetAt: at }, change),
  listVersionCallers: (k) => k.versions.callers(1),
  releaseVersion: (k) => k.versions.release({ version: 2 }),
  rehearseSunset: (k) => k.versions.rehearseSunset(1, { keyId: "key_1", until: at }),
  retireVersion: (k) => k.versions.retire(1),
  createWebhook: (k) => k.webhooks.create({ url: "https://example.org/hook" }),
  getWebhook: (k) => k.webhooks.get("whk_1"),
  listWebhooks: (k) => k.webhooks.list(),
  changeWebhook: (k) => k.webhooks.update("whk_1", { disabled: true }, change),
  deleteWebhook: (k) => k.webhooks.delete("whk_1", change),
  rotateWebhookSecret: (k) => k.webhooks.rotateSecret("whk_1", {}, change),
  pingWebhook: (k) => k.webhooks.ping("whk_1"),
  listWebhookDeliveries: (k) => k.webhooks.deliveries.list("whk_1", { state: "failed" }),
  getWebhookDelivery: (k) => k.webhooks.deliveries.get("whk_1", "dlv_1"),
  replayWebhookDelivery: (k) => k.webhooks.deliveries.replay("whk_1", "dlv_1"),
  aiCreateMemory: (_, a) => a.remember({ text: "Tea." }),
  aiRecall: (_, a) => a.recall({ query: "tea?" }),
  aiRecallContext: (_, a) => a.context({}),
  backendVerifyAPIKey: (_, __, b) => b.verify({ key: "kpsk_x" }),
  backendReportUsage: (_, __, b) => b.reportUsage([]),
};

async function first<T>(all: AsyncIterable<T>): Promise<T | undefined> {
  for await (const one of all) return one;
  return undefined;
}

// Methods that are not sent again after a response that leaves open whether the request was performed.
const sentOnce = ["login", "changePassword", "verifyAPIKey", "backendVerifyAPIKey", "eraseSubject"];

const items = { items: [], keys: [], results: [], errors: [], issues: [], received: 0, created: 0, replaced: 0, failed: 0, unchanged: 0, nextCursor: null };

for (const [id, call] of Object.entries(calls)) {
  test(`${id} is sent by its method`, async (t) => {
    const server = await serve(t, (request, response) => {
      if (String(request.headers.accept).includes("ndjson")) {
        response.writeHead(200, { "Content-Type": "application/x-ndjson" });
        response.end("{}\n");
      } else json(response, 200, items);
    });
    const options = { url: server.url, retries: 0 };
    await call(
      new Keepsake({ ...options, apiKey: "kpsk_x" }),
      new KeepsakeAgent({ ...options, token: "kpsk_agent" }),
      new KeepsakeBackend({ ...options, apiKey: "kpsk_x", secret: "a-secret" }),
    );
    assert.equal(server.requests.length, 1);
    const request = server.requests[0]!;
    const operation = find(request.method, request.url.split("?")[0]!);
    assert.equal(operation?.operationId, id);
    assert.equal(request.headers["idempotency-key"] !== undefined, keyed(operation!), "an Idempotency-Key is sent");
    if (call.toString().includes("change)")) assert.equal(request.headers["if-match"], '"7"');
    if (id.startsWith("ai")) assert.deepEqual([request.headers.authorization, request.headers["accept-version"]], ["Bearer kpsk_agent", "1"]);
    else assert.equal(request.headers["x-api-key"], "kpsk_x");
    if (id.startsWith("backend")) assert.deepEqual([request.headers["x-keepsake-backend"], request.headers["accept-version"]], ["a-secret", "1"]);
  });

  test(`${id} is repeated only if that has no second effect`, async (t) => {
    const server = await serve(t, (_, response) => json(response, 503, { error: "unavailable", message: "Try again.", requestId: "req_1" }));
    const options: CallOptions & { url: string } = { url: server.url, retries: 1 };
    const clock = { now: Date.now, random: () => 0, sleep: async () => {} };
    const result = call(
      new Keepsake({ ...options, apiKey: "kpsk_x", clock }),
      new KeepsakeAgent({ ...options, token: "kpsk_agent", clock }),
      new KeepsakeBackend({ ...options, apiKey: "kpsk_x", clock }),
    );
    await assert.rejects(async () => await result, { name: "ApiError", status: 503, code: "unavailable" });
    // A 503 of the server itself says that nothing was erased.
    assert.equal(server.requests.length, sentOnce.includes(id) && id !== "eraseSubject" ? 1 : 2);
    const keys = server.requests.map((r) => r.headers["idempotency-key"]);
    assert.equal(new Set(keys).size, 1, "the retry has the same Idempotency-Key");
  });
}

test("every operation of openapi/v1.json is called above", () => {
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((o) => o.operationId));
  const others = ["search", "aiCallTools", "aiGetToolsMetadata", "backendForwardAuth", "backendLivez", "backendReadyz", "backendMetrics"];
  assert.deepEqual(ids.filter((id) => !(id in calls) && !others.includes(id)), []);
});
