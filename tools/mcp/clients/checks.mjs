// What every client does with the tools, whatever library it is. The environment has the URL and three API keys: KEY for all tools,
// WRONG that the server refuses, and LIMITED with one request a minute.
import assert from "node:assert/strict";

export const { URL: url, KEY, WRONG, LIMITED } = process.env;

const names = [
  "search", "fetch", "add_memory", "search_memories", "get_memory", "list_memories", "update_memory", "delete_memory", "forget_subject", "build_context",
];

// check runs all calls. connect takes a key and returns tools(), a map from names to schemas, call(name, arguments), which returns
// {failed, text}, and close(). A refused request rejects. Some clients compare arguments with the schema, and never send null.
export async function check(connect, { nulls = true } = {}) {
  const client = await connect(KEY);
  const schemas = await client.tools();
  assert.deepEqual(Object.keys(schemas), names);
  for (const [name, schema] of Object.entries(schemas)) oneType(name, schema);

  const call = async (name, args) => {
    const result = await client.call(name, args);
    assert.ok(!result.failed, `${name}: ${result.text}`);
    return JSON.parse(result.text);
  };
  const added = await call("add_memory", {
    subjectId: "ada", text: "Prefers tea.", tags: ["drink"], metadata: { a: 1 }, expiresAt: "2090-01-01T00:00:00Z",
  });
  const extra = nulls ? { tags: null, metadata: null, expiresAt: null, clear: null, revision: null } : {};
  const changed = await call("update_memory", { id: added.id, text: "Prefers green tea.", toolCallId: "call_1", ...extra });
  assert.deepEqual([changed.tags, changed.metadata, changed.expiresAt], [["drink"], { a: 1 }, "2090-01-01T00:00:00Z"]);
  const cleared = await call("update_memory", { id: added.id, clear: ["tags", "expiresAt"] });
  assert.deepEqual([cleared.tags, cleared.metadata, cleared.expiresAt], [[], { a: 1 }, null]);
  const found = await call("search_memories", { subjectId: "ada", query: "What tea?" });
  assert.equal(found.results[0].memory.id, added.id);
  assert.equal((await call("get_memory", { id: added.id })).text, "Prefers green tea.");
  assert.equal((await call("list_memories", { subjectId: "ada" })).items.length, 1);
  assert.match((await call("build_context", { subjectId: "ada", query: "tea" })).text, /green tea/);
  assert.ok((await call("search", { query: "tea" })).results);
  assert.equal((await call("fetch", { id: added.id })).text, "Prefers green tea.");
  const wrong = await client.call("list_memories", { subjectId: "ada", limits: 3 });
  assert.ok(wrong.failed && wrong.text.includes("limits"), `a typing error: ${wrong.text}`);
  const missing = await client.call("get_memory", { id: "mem_00000000000000000000000000" });
  assert.ok(missing.failed && missing.text.includes("not_found"), `a missing memory: ${missing.text}`);
  assert.ok((await call("delete_memory", { id: added.id })).deleted);
  await call("add_memory", { subjectId: "ada", text: "Likes walks." });
  const plan = await call("forget_subject", { subjectId: "ada" });
  assert.ok((await call("forget_subject", { subjectId: "ada", planId: plan.planId })).erased);
  await client.close();

  await assert.rejects(async () => (await connect(WRONG)).tools(), "a wrong key is refused");
  await assert.rejects(async () => {
    const limited = await connect(LIMITED);
    for (let i = 0; i < 3; i++) await limited.tools();
  }, /429|rate_limit|requests left|Try again/i);
}

// oneType checks that each value in a schema has one type, and that no keyword is one that some models' APIs refuse.
export function oneType(at, schema) {
  const allowed = [
    "type", "description", "properties", "required", "items", "enum", "format", "minimum", "maximum", "minLength", "maxLength", "maxItems", "default",
    "title",
  ];
  for (const keyword of Object.keys(schema)) assert.ok(allowed.includes(keyword), `${at} has ${keyword}`);
  assert.equal(typeof schema.type, "string", `${at} has the type ${JSON.stringify(schema.type)}`);
  if (schema.format) assert.equal(schema.format, "date-time", at);
  if (schema.type === "array") oneType(`${at}[]`, schema.items);
  for (const [name, inner] of Object.entries(schema.properties ?? {})) oneType(`${at}.${name}`, inner);
  for (const name of schema.required ?? []) assert.ok(schema.properties[name], `${at} requires ${name}`);
}

// bare returns a schema without what a library adds to it.
export function bare(schema) {
  const { $schema, additionalProperties, ...rest } = schema;
  return rest;
}

// result returns the result of a call of the protocol.
export function result(r) {
  return { failed: r.isError === true, text: r.content.map((c) => c.text).join("") };
}
