// Lists, imports and exports.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { ConnectionError, ImportError, TimeoutError } from "@keepsake/client";
import { connect, json, refuse, serve } from "./server.js";

const empty = { received: 0, created: 0, replaced: 0, failed: 0, errors: [] as object[], issues: [] as object[] };

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

test("a list is its first page, or all items, or all pages", async (t) => {
  const { url, requests } = await serve(t, (request, response) => {
    const cursor = new URL(request.url, "http://x").searchParams.get("cursor");
    json(response, 200, cursor === "2" ? { items: [{ id: "c" }], nextCursor: null } : { items: [{ id: "a" }, { id: "b" }], nextCursor: "2" });
  });
  const { keepsake } = connect(url);
  const list = keepsake.documents.list({ tag: ["x", "y"] });
  assert.equal(requests.length, 0, "nothing is sent before the list is used");
  assert.deepEqual((await list).items.map((d) => d.id), ["a", "b"]);
  assert.deepEqual((await all(keepsake.documents.list())).map((d) => d.id), ["a", "b", "c"]);
  assert.equal((await all(list.pages())).length, 2);
  assert.equal(requests[0]?.url, "/api/v1/documents?tag=x&tag=y");
});

test("a search sends its cursor in the body", async (t) => {
  const { url, requests } = await serve(t, (request, response) => {
    const { cursor } = JSON.parse(request.body) as { cursor?: string };
    json(response, 200, { results: [{ id: cursor ?? "first" }], nextCursor: cursor === undefined ? "second" : null });
  });
  const found = await all(connect(url).keepsake.search("tea"));
  assert.deepEqual(found.map((r) => r.id), ["first", "second"]);
  assert.ok(requests.every((r) => r.url === "/api/v1/search"));
});

test("an iteration ends at the first error", async (t) => {
  const { url } = await serve(t, (_, response, number) => {
    if (number === 1) json(response, 200, { items: [{ id: "a" }], nextCursor: "2" });
    else refuse(response, 403, "insufficient_scope");
  });
  const ids: string[] = [];
  await assert.rejects(async () => {
    for await (const d of connect(url).keepsake.documents.list()) ids.push(d.id);
  }, { code: "insufficient_scope" });
  assert.deepEqual(ids, ["a"]);
});

test("an import sends objects, texts, bytes, blobs and streams", async (t) => {
  const { url, requests } = await serve(t, (_, response) => json(response, 200, empty));
  const { keepsake } = connect(url);
  const text = '{"id":"a","title":"ä"}\n{"id":"b","title":"🍵"}\n';
  const bytes = new TextEncoder().encode(text);
  async function* objects() {
    yield* [{ id: "a", title: "ä" }, { id: "b", title: "🍵" }];
  }
  const halves = [text.slice(0, -6), text.slice(-6)]; // within a character
  for (const source of [
    text, bytes, new Blob([text]), new Response(text).body!, Readable.from([bytes.slice(0, 20), bytes.slice(20)]), halves, [...objectsOf(text)], objects(),
  ]) await keepsake.documents.import(source);
  for (const r of requests) assert.deepEqual([r.body, r.headers["content-type"]], [text, "application/x-ndjson"]);
  assert.equal(requests.length, 8);
});

function* objectsOf(text: string): Generator<{ id: string }> {
  for (const line of text.trim().split("\n")) yield JSON.parse(line) as { id: string };
}

test("an import is sent in parts, whose results are added up", async (t) => {
  const { url, requests } = await serve(t, (request, response) => {
    const lines = request.body.trim().split("\n").length;
    json(response, 200, { ...empty, received: lines, created: lines - 1, failed: 1, errors: [{ line: 2, field: "title", issue: "required", message: "" }], issues: [{ field: "title", issue: "required", count: 1 }] });
  });
  const progress: number[] = [];
  const rows = Array.from({ length: 12_000 }, (_, i) => ({ id: `d${i}`, title: "x" }));
  const result = await connect(url).keepsake.documents.import(rows, { idempotencyKey: "my-import", onProgress: (p) => progress.push(p.lines) });
  assert.deepEqual([result.received, result.created, result.failed], [12_000, 11_997, 3]);
  assert.deepEqual(result.errors.map((e) => e.line), [2, 5002, 10002]);
  assert.deepEqual(result.issues, [{ field: "title", issue: "required", count: 3 }]);
  assert.deepEqual(progress, [5000, 10000, 12000]);
  assert.deepEqual(requests.map((r) => r.headers["idempotency-key"]), ["my-import", "my-import-5001", "my-import-10001"]);
});

test("a part that fails says what was sent before it", async (t) => {
  const { url } = await serve(t, (_, response, number) => {
    if (number === 1) json(response, 200, { ...empty, received: 5000, created: 5000 });
    else refuse(response, 409, "limit_reached");
  });
  const rows = Array.from({ length: 6_000 }, (_, i) => ({ id: `d${i}`, title: "x" }));
  await assert.rejects(async () => await connect(url).keepsake.documents.import(rows), (error: ImportError) => {
    assert.ok(error instanceof ImportError);
    assert.deepEqual([error.line, error.result.created, (error.cause as { code: string }).code], [5001, 5000, "limit_reached"]);
    return true;
  });
});

test("an import whose connection is cut is repeated with its key, and then says what was sent", async (t) => {
  const { url, requests } = await serve(t, (_, response, number) => {
    if (number === 1) json(response, 200, { ...empty, received: 5000, created: 5000 });
    else response.destroy();
  });
  const rows = Array.from({ length: 6_000 }, (_, i) => ({ id: `d${i}`, title: "x" }));
  await assert.rejects(async () => await connect(url).keepsake.documents.import(rows), (error: ImportError) => {
    assert.ok(error instanceof ImportError && error.cause instanceof ConnectionError, String(error));
    assert.deepEqual([error.line, error.result.created], [5001, 5000]);
    return true;
  });
  assert.equal(requests.length, 5);
  assert.equal(new Set(requests.slice(1).map((r) => r.headers["idempotency-key"])).size, 1);
});

test("memories without IDs are not sent twice", async (t) => {
  const { url, requests } = await serve(t, (_, response) => refuse(response, 503, "unavailable"));
  const { keepsake } = connect(url);
  await assert.rejects(async () => await keepsake.memories.import([{ subjectId: "p", text: "Tea." }]));
  assert.deepEqual([requests.length, requests[0]?.headers["idempotency-key"]], [1, undefined]);
  await assert.rejects(async () => await keepsake.memories.import('{"id":"mem_1"}\n'));
  assert.equal(requests.length, 5);
});

test("an import that is no NDJSON is refused before it is sent", async (t) => {
  const { url, requests } = await serve(t, (_, response) => json(response, 200, empty));
  const { keepsake } = connect(url);
  await assert.rejects(async () => await keepsake.documents.import('\n [{"id":"a"}]'), /JSON array/);
  await assert.rejects(async () => await keepsake.documents.import("x".repeat(5 << 20)), /line 1 is longer/);
  assert.equal(requests.length, 0);
});

test("rows are mapped, and CSV is sent as it is", async (t) => {
  const { url, requests } = await serve(t, (_, response) => json(response, 200, { ...empty, deleted: 0 }));
  const { keepsake } = connect(url);
  await keepsake.documents.import([{ sku: 7, name: "Tea" }], { rows: { id: "sku", title: "name" } });
  await keepsake.documents.importCsv("sku,name\n7,Tea\n", { rows: { id: "sku", title: "name", into: "shop" } });
  assert.deepEqual(requests.map((r) => [r.url, r.headers["content-type"], r.body]), [
    ["/api/v1/documents/import?id=sku&title=name", "application/x-ndjson", '{"sku":7,"name":"Tea"}\n'],
    ["/api/v1/documents/import?id=sku&title=name&into=shop", "text/csv", "sku,name\n7,Tea\n"],
  ]);
});

test("an import that replaces a collection is one request", async (t) => {
  const { url, requests } = await serve(t, (_, response) => json(response, 200, { ...empty, deleted: 0 }));
  const rows = Array.from({ length: 6_000 }, (_, i) => ({ id: `d${i}`, title: "x" }));
  await connect(url).keepsake.documents.import(rows, { rows: { into: "c", replace: true } });
  assert.equal(requests.length, 1);
});

test("an export is objects, lines or bytes, with progress", async (t) => {
  const text = '{"id":"a"}\n{"id":"ä"}\n';
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write(Buffer.from(text).subarray(0, 18)); // within a character
    setImmediate(() => response.end(Buffer.from(text).subarray(18)));
  });
  const { keepsake } = connect(url);
  const progress: number[] = [];
  const lines = keepsake.documents.export({ collection: "c" }, { onProgress: (p) => progress.push(p.lines) });
  assert.deepEqual((await all(lines)).map((d) => d.id), ["a", "ä"]);
  assert.equal(progress.at(-1), 2);
  assert.equal(await new Response(lines.stream() as ReadableStream<Uint8Array<ArrayBuffer>>).text(), text);
});

test("an export whose connection is cut is an error", async (t) => {
  const { url, requests } = await serve(t, (_, response, number) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write('{"id":"a"}\n{"id":');
    setImmediate(() => (number === 1 ? response.destroy() : response.end()));
  });
  const { keepsake } = connect(url);
  for (const message of [/the connection ended within the export, which is not complete/, /ended after 1 whole lines/]) {
    const ids: string[] = [];
    await assert.rejects(async () => {
      for await (const d of keepsake.documents.export()) ids.push(d.id);
    }, (error: Error) => error instanceof ConnectionError && message.test(error.message));
    assert.deepEqual(ids, ["a"]);
  }
  assert.equal(requests.length, 2, "it is not repeated");
});

test("an export that stands still ends, and so does one that is aborted", async (t) => {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write('{"id":"a"}\n');
  });
  const { keepsake } = connect(url);
  await assert.rejects(async () => await all(keepsake.documents.export({}, { timeoutMs: 30 })), TimeoutError);
  const stop = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of keepsake.documents.export({}, { signal: stop.signal })) stop.abort(new Error("enough"));
  }, /enough/);
});

test("an export that is left early closes its connection", async (t) => {
  let closed!: () => void;
  const end = new Promise<void>((resolve) => (closed = resolve));
  const { url } = await serve(t, (_, response) => {
    response.on("close", closed);
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write('{"id":"a"}\n');
  });
  for await (const _ of connect(url).keepsake.documents.export()) break;
  await end;
});
