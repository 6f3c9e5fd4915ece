// The official TypeScript SDK with keepsake mcp, the program PROGRAM, as desktop clients start it.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import assert from "node:assert/strict";
import { KEY, check, result, url } from "./checks.mjs";

const open = [];
const connect = async (key) => {
  const client = new Client({ name: "check", version: "1" });
  const transport = new StdioClientTransport({
    command: process.env.PROGRAM, args: ["mcp", "--url", url], env: { ...process.env, KEEPSAKE_KEY: key }, stderr: "ignore",
  });
  open.push(client);
  await client.connect(transport);
  return {
    tools: async () => Object.fromEntries((await client.listTools()).tools.map((t) => [t.name, t.inputSchema])),
    call: async (name, args) => result(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
};
await check(connect);

const client = await connect(KEY);
await assert.rejects(client.call("add_memory", { subjectId: "ada", text: "cut \ud83d" }), /-32700/);
await assert.rejects(client.call("add_memory", { subjectId: "ada", text: "y".repeat(9 << 20) }), /8 MiB/);
assert.ok((await client.call("list_memories", { subjectId: "ada" })).text.includes("items"));
await Promise.all(open.map((c) => c.close())); // also those that were refused
