// LangChain's adapter for the Model Context Protocol.
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { bare, check, url } from "./checks.mjs";

await check(async (key) => {
  const client = new MultiServerMCPClient({
    mcpServers: { keepsake: { transport: "http", url, headers: { Authorization: `Bearer ${key}` }, automaticSSEFallback: false } },
    throwOnLoadError: true, prefixToolNameWithServerName: false, useStandardContentBlocks: false,
  });
  let tools;
  return {
    tools: async () => {
      tools = await client.getTools();
      return Object.fromEntries(tools.map((t) => [t.name, bare(toJsonSchema(t.schema))]));
    },
    call: async (name, args) => {
      try {
        const said = await tools.find((t) => t.name === name).invoke(args);
        return { failed: false, text: typeof said === "string" ? said : said.text };
      } catch (e) {
        return { failed: true, text: String(e.message) };
      }
    },
    close: () => client.close(),
  };
}, { nulls: false });
