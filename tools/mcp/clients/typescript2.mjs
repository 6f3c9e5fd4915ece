// The second major version of the official TypeScript SDK.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { check, result, url } from "./checks.mjs";

await check(async (key) => {
  const client = new Client({ name: "check", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }));
  return {
    tools: async () => Object.fromEntries((await client.listTools()).tools.map((t) => [t.name, t.inputSchema])),
    call: async (name, args) => result(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
});
