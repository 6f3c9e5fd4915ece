// The function declarations that Google's library makes of the tools for Gemini, which takes one type per value.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { mcpToTool } from "@google/genai";
import assert from "node:assert/strict";
import { KEY, oneType, url } from "./checks.mjs";

const client = new Client({ name: "check", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${KEY}` } } }));
const callable = mcpToTool(client);
const { functionDeclarations } = await callable.tool();
assert.equal(functionDeclarations.length, 10);
for (const f of functionDeclarations) {
  assert.match(f.name, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/);
  oneType(f.name, f.parametersJsonSchema);
}
const parts = await callable.callTool([{ name: "list_memories", args: { subjectId: "ada", tags: null, toolCallId: "1" } }]);
assert.match(JSON.stringify(parts), /items/);
assert.doesNotMatch(JSON.stringify(parts), /validation_error/);
await client.close();
