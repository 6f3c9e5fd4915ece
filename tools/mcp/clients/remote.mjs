// mcp-remote, which desktop clients start to reach a server over HTTP, with the key in a header.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { KEY, result, url } from "./checks.mjs";

const client = new Client({ name: "check", version: "1" });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: [
    fileURLToPath(new URL("../node_modules/mcp-remote/dist/proxy.js", import.meta.url)), url, "--allow-http", "--transport", "http-only",
    "--header", "Authorization:${AUTH}",
  ],
  env: { ...process.env, AUTH: `Bearer ${KEY}` }, stderr: "ignore",
}));
assert.equal((await client.listTools()).tools.length, 10);
const added = await client.callTool({ name: "add_memory", arguments: { subjectId: "remote", text: "Prefers tea.", tags: null, toolCallId: "1" } });
assert.ok(!added.isError, result(added).text);
const wrong = result(await client.callTool({ name: "list_memories", arguments: { subject: "remote" } }));
assert.ok(wrong.failed && wrong.text.includes("subject"), wrong.text);
await client.close();
