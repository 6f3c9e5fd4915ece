// The official TypeScript SDK, with the conversion of its schemas by Zod.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { z } from "zod";
import { check, result, url } from "./checks.mjs";

await check(async (key) => {
  const client = new Client({ name: "check", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }));
  return {
    tools: async () => {
      const { tools } = await client.listTools();
      for (const tool of tools) z.fromJSONSchema(tool.inputSchema);
      return Object.fromEntries(tools.map((t) => [t.name, t.inputSchema]));
    },
    call: async (name, args) => result(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
});
