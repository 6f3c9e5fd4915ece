// The MCP client of Vercel's AI SDK.
import { createMCPClient } from "@ai-sdk/mcp";
import { asSchema } from "ai";
import { bare, check, result, url } from "./checks.mjs";

await check(async (key) => {
  const client = await createMCPClient({ transport: { type: "http", url, headers: { Authorization: `Bearer ${key}` } } });
  let tools;
  return {
    tools: async () => {
      tools = await client.tools();
      const schemas = await Promise.all(Object.entries(tools).map(async ([name, t]) => [name, bare(await asSchema(t.inputSchema).jsonSchema)]));
      return Object.fromEntries(schemas);
    },
    call: async (name, args) => result(await tools[name].execute(args, { toolCallId: "1", messages: [] })),
    close: () => client.close(),
  };
});
