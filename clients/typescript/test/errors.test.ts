// Each failure is one clear error.
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ApiError, ConnectionError, Keepsake, RateLimitError, RedirectError, TimeoutError, UnexpectedAnswerError } from "@keepsake/client";
import { connect, json, refuse, serve } from "./server.js";

// thrown returns the error of a call.
async function thrown<E extends Error>(call: PromiseLike<unknown>, type: new (...args: never[]) => E): Promise<E> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof type, `got ${String(error)}`);
    return error;
  }
  assert.fail("the call did not fail");
}

test("an error of the server has its code, field, request ID and status", async (t) => {
  const { url } = await serve(t, (_, response) =>
    refuse(response, 400, "validation_error", { details: { field: "scopes[0]", issue: "not_allowed" } }));
  const { keepsake } = connect(url);
  const error = await thrown(keepsake.apiKeys.create({ name: "x", scopes: [] }), ApiError);
  assert.deepEqual([error.status, error.code, error.field, error.issue, error.requestId, error.attempts],
    [400, "validation_error", "scopes[0]", "not_allowed", "req_0123456789", 1]);
  assert.match(error.message, /scopes\[0\]: not_allowed/);
});

test("an error names the template of the path, and no ID, query or key", async () => {
  const { keepsake } = connect("http://127.0.0.1:28999", { retries: 0 });
  const error = await thrown(keepsake.memories.list({ subjectId: "ada" }), ConnectionError);
  assert.match(error.message, /^GET http:\/\/127\.0\.0\.1:28999\/api\/v1\/memories: .*ECONNREFUSED/);
  const other = await thrown(keepsake.subjects.get("ada"), ConnectionError);
  assert.match(other.message, /subjects\/\{subjectId\}/);
  assert.doesNotMatch(error.message + other.message, /ada|kpsk/);
});

test("a field that an older server does not know is named", async (t) => {
  const { url } = await serve(t, (_, response) => refuse(response, 400, "validation_error", { details: { field: "timeZone", issue: "unknown" } }));
  const error = await thrown(connect(url).keepsake.memories.recall({ subjectId: "p", query: "q", timeZone: "UTC" }), ApiError);
  assert.match(error.message, /timeZone: unknown.*older than this client/);
});

test("an operation that an older server does not have is said to be missing", async (t) => {
  const { url } = await serve(t, (_, response) => refuse(response, 404, "not_found"));
  const { keepsake } = connect(url);
  assert.match((await thrown(keepsake.collections.list(), ApiError)).message, /older than this client/);
  assert.doesNotMatch((await thrown(keepsake.collections.get("c"), ApiError)).message, /older/);
});

test("fields, values and headers of a newer server change nothing", async (t) => {
  const { url } = await serve(t, (_, response) =>
    json(response, 200, { status: "excellent", novel: { a: [1] }, version: "1" }, { "X-Novel": "1" }));
  assert.equal((await connect(url).keepsake.health()).status, "excellent");
});

test("a version that has ended names its replacement", async (t) => {
  const { url, requests } = await serve(t, (_, response) =>
    refuse(response, 410, "version_sunset", { replacementVersion: "2", migrationGuideUrl: "https://example.org/guide" }));
  const error = await thrown(connect(url).keepsake.health(), ApiError);
  assert.deepEqual([error.status, error.code, error.replacementVersion, error.migrationGuideUrl], [410, "version_sunset", "2", "https://example.org/guide"]);
  assert.equal(requests.length, 1);
});

test("a page of a proxy or of another server is not an answer", async (t) => {
  let status = 200;
  const { url } = await serve(t, (_, response) => {
    response.writeHead(status, { "Content-Type": "text/html; charset=utf-8" });
    response.end("<h1>Welcome</h1>");
  });
  const { keepsake } = connect(url, { retries: 0 });
  for (status of [200, 404, 502]) {
    const error = await thrown(keepsake.health(), UnexpectedAnswerError);
    assert.equal(error.status, status);
    assert.match(error.message, new RegExp(`not one of Keepsake \\(${status}, text/html\\); check the address`));
  }
  await thrown(keepsake.documents.export()[Symbol.asyncIterator]().next(), UnexpectedAnswerError);
});

test("a page of a proxy for a server that is away is read again", async (t) => {
  const { url } = await serve(t, (_, response, number) => {
    if (number < 3) {
      response.writeHead(502, { "Content-Type": "text/html" });
      response.end("<h1>Bad gateway</h1>");
    } else json(response, 200, { status: "healthy" });
  });
  const { keepsake, clock } = connect(url);
  assert.equal((await keepsake.health()).status, "healthy");
  assert.deepEqual(clock.waits, [200, 400]);
});

test("a limit of a proxy is waited for, unless it ends in an hour", async (t) => {
  const page = (response: ServerResponse, seconds: string) => {
    response.writeHead(429, { "Content-Type": "text/html", "Retry-After": seconds });
    response.end("<h1>Slow down</h1>");
  };
  const { url } = await serve(t, (_, response, number) => (number === 1 ? page(response, "7") : number === 2 ? json(response, 201, {}) : page(response, "3600")));
  const { keepsake, clock } = connect(url);
  await keepsake.documents.create({ title: "x" });
  assert.deepEqual(clock.waits, [7_000]);
  const error = await thrown(keepsake.health(), UnexpectedAnswerError);
  assert.deepEqual([error.status, error.retryAfterMs, clock.waits.length], [429, 3_600_000, 1]);
  assert.match(error.message, /from 2026-11-23T13:00:07/);
});

test("an error that a newer server has invented is an error of the server", async (t) => {
  const { url, requests } = await serve(t, (_, response) => refuse(response, 451, "novel_code", { details: { field: "title", issue: "novel_issue" }, novel: 1 }));
  const error = await thrown(connect(url).keepsake.documents.get("x"), ApiError);
  assert.deepEqual([error.status, error.code, error.field, error.issue, requests.length], [451, "novel_code", "title", "novel_issue", 1]);
});

test("a list of an older server ends where it has no cursor, and JSON that is no list is an error", async (t) => {
  const { url, requests } = await serve(t, (request, response) =>
    json(response, 200, request.url.startsWith("/api/v1/documents") ? { items: [{ id: "a" }] } : { ok: true }));
  const { keepsake } = connect(url);
  for await (const document of keepsake.documents.list()) assert.equal(document.id, "a");
  assert.equal(requests.length, 1);
  const error = await thrown(keepsake.webhooks.list()[Symbol.asyncIterator]().next(), UnexpectedAnswerError);
  assert.match(error.message, /^GET .*\/api\/v1\/.*webhooks: the answer is no list; check the address$/);
});

test("JSON that is no object is not an answer", async (t) => {
  let value: unknown;
  const { url } = await serve(t, (_, response) => json(response, 200, value));
  for (value of [null, "text", 5, true]) await thrown(connect(url).keepsake.health(), UnexpectedAnswerError);
});

test("JSON of another server is not an answer to an error", async (t) => {
  const { url } = await serve(t, (_, response) => json(response, 403, ["no"]));
  await thrown(connect(url).keepsake.health(), UnexpectedAnswerError);
});

test("an address that is none is refused, without its password", () => {
  for (const url of ["", "localhost:8080", "ftp://example.org", "https://example.org/?key=1", "https://ada:secret@example.org"])
    assert.throws(() => new Keepsake({ url }), (error: Error) => error.name === "KeepsakeError" && !error.message.includes("secret"));
});

test("a key with a line break is refused, and not shown", () => {
  assert.throws(() => new Keepsake({ url: "https://example.org", apiKey: "kpsk_secret\n" }), (error: Error) => /API key/.test(error.message) && !error.message.includes("secret"));
});

test("an ID that leads to another path is refused", async () => {
  const { keepsake } = connect("http://127.0.0.1:1");
  for (const id of ["", ".", "..", undefined as unknown as string]) await assert.rejects(async () => await keepsake.documents.delete(id), /must be the ID/);
});

test("an address below a path is kept", async (t) => {
  const { url, requests } = await serve(t, (_, response) => json(response, 200, {}));
  await connect(`${url}/search/`).keepsake.documents.get("a/b c");
  assert.equal(requests[0]?.url, "/search/api/v1/documents/a%2Fb%20c");
});

test("a limit is waited for as long as the server asks", async (t) => {
  const { url } = await serve(t, (_, response, number) => {
    if (number === 1) refuse(response, 429, "rate_limit_exceeded", { details: { policy: "key_minute" } }, { "Retry-After": "17" });
    else json(response, 200, { status: "healthy" });
  });
  const { keepsake, clock } = connect(url);
  await keepsake.health();
  assert.deepEqual(clock.waits, [17_000]);
});

test("a limit that ends in an hour is an error with the time", async (t) => {
  const { url, requests } = await serve(t, (_, response) =>
    refuse(response, 429, "rate_limit_exceeded", { details: { policy: "daily_quota" } }, { "Retry-After": "3600" }));
  const { keepsake, clock } = connect(url);
  const error = await thrown(keepsake.documents.create({ title: "x" }), RateLimitError);
  assert.deepEqual([requests.length, clock.waits.length, error.policy, error.retryAfterMs], [1, 0, "daily_quota", 3_600_000]);
  assert.equal(error.retryAt?.getTime(), clock.time + 3_600_000);
  assert.match(error.message, /2026-11-23T13:00:00/);
});

test("all waits of a call together are bounded", async (t) => {
  const { url } = await serve(t, (_, response) => refuse(response, 429, "rate_limit_exceeded", {}, { "Retry-After": "50" }));
  const { keepsake, clock } = connect(url, { retries: 10 });
  const error = await thrown(keepsake.health(), RateLimitError);
  assert.deepEqual([clock.waits, error.attempts], [[50_000, 50_000], 3]);
});

test("Retry-After can be a date", async (t) => {
  const { url } = await serve(t, (_, response, number) => {
    if (number === 1) refuse(response, 503, "unavailable", {}, { "Retry-After": "Mon, 23 Nov 2026 12:00:09 GMT" });
    else json(response, 200, {});
  });
  const { keepsake, clock } = connect(url);
  await keepsake.health();
  assert.deepEqual(clock.waits, [9_000]);
});

test("an aborted call fails with the reason of its signal, also while it waits", async (t) => {
  const { url } = await serve(t, () => {});
  const stop = new AbortController();
  const call = connect(url).keepsake.health({ signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(async () => await call, /^Error: enough$/);
  const { url: busy } = await serve(t, (_, response) => {
    refuse(response, 503, "unavailable");
    again.abort(new Error("no longer"));
  });
  const again = new AbortController();
  await assert.rejects(async () => await connect(busy).keepsake.health({ signal: again.signal }), /no longer/);
});

test("a call that gets no answer ends in time, and is not repeated", async (t) => {
  const { url } = await serve(t, () => {});
  const { keepsake, clock } = connect(url, { timeoutMs: 20 });
  assert.match((await thrown(keepsake.health(), TimeoutError)).message, /no answer within 20 ms/);
  assert.equal(clock.waits.length, 0);
});

test("an answer that is cut is read again if that has no second effect", async (t) => {
  const { url, requests } = await serve(t, (_, response, number) => {
    if (number === 2) return json(response, 200, { status: "healthy" });
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
    response.write('{"status":');
    setImmediate(() => response.destroy());
  });
  const { keepsake } = connect(url);
  assert.equal((await keepsake.health()).status, "healthy");
  await thrown(keepsake.auth.login("a@example.org", "x"), ConnectionError);
  assert.equal(requests.length, 3);
});

test("no key follows a redirect", async (t) => {
  const elsewhere = await serve(t, (_, response) => json(response, 200, {}));
  const { url } = await serve(t, (request, response) => {
    response.writeHead(request.url.includes("health") ? 302 : 307, { Location: `${elsewhere.url}/stolen` });
    response.end();
  });
  const { keepsake } = connect(url);
  const error = await thrown(keepsake.health(), RedirectError);
  assert.match(error.message, new RegExp(`redirects to ${elsewhere.url}; nothing was sent there`));
  await thrown(keepsake.documents.create({ title: "x" }), RedirectError);
  assert.equal(elsewhere.requests.length, 0);
});

test("a server that speaks something else is a connection error", async (t) => {
  const server = createServer((socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  await thrown(connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { retries: 0 }).keepsake.health(), ConnectionError);
});

test("a name that does not exist is not tried again", async () => {
  const { keepsake, clock } = connect("http://keepsake.invalid");
  await thrown(keepsake.health(), ConnectionError);
  assert.equal(clock.waits.length, 0);
});

test("a deprecated version is warned of once", async (t) => {
  const headers = {
    Deprecation: "true", Sunset: "Sun, 23 May 2027 00:00:00 GMT", "X-API-Version": "1", "X-API-Replacement-Version": "2",
    Link: '</docs/api/migration/v1-to-v2>; rel="deprecation", </api/v2/health>; rel="successor-version"',
  };
  const { url } = await serve(t, (_, response) => json(response, 200, {}, headers));
  const warnings: string[] = [];
  for (let i = 0; i < 3; i++) await connect(url, { warn: (w) => warnings.push(w) }).keepsake.health();
  assert.deepEqual(warnings, [
    `Keepsake at ${url}: version 1 of the API is deprecated and ends on 2027-05-23. Version 2 replaces it. How to migrate: ${url}/docs/api/migration/v1-to-v2`,
  ]);
});

const limitsOf = (keepsake: Keepsake) => keepsake.rateLimits;

test("the limits are those of the last answer, also of an error", async (t) => {
  const headers = {
    "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1795435200", "X-RateLimit-Daily-Remaining": "7", "X-RateLimit-Monthly-Remaining": "8",
  };
  const { url } = await serve(t, (_, response, number) => {
    if (number === 1) json(response, 200, {}, { ...headers, "X-RateLimit-Key-Limit": "5", "X-RateLimit-Key-Remaining": "4" });
    else if (number === 2) refuse(response, 404, "not_found", {}, headers);
    else json(response, 200, {});
  });
  const { keepsake } = connect(url);
  assert.equal(limitsOf(keepsake), undefined);
  await keepsake.health();
  assert.deepEqual(limitsOf(keepsake), {
    limit: 60, remaining: 59, resetAt: new Date(1795435200_000), dailyRemaining: 7, monthlyRemaining: 8, key: { limit: 5, remaining: 4 },
  });
  await thrown(keepsake.documents.get("x"), ApiError);
  assert.equal(limitsOf(keepsake)?.key, undefined);
  await keepsake.health(); // a proxy's answer has none
  assert.equal(limitsOf(keepsake)?.limit, 60);
});
