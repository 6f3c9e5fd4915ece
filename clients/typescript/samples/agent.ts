// An agent with a key for one person.
import { Keepsake, KeepsakeAgent } from "@keepsake/client";

const url = process.env.KEEPSAKE_URL ?? "http://localhost:8080";
const keepsake = new Keepsake({ url, apiKey: process.env.KEEPSAKE_KEY });
const bound = await keepsake.apiKeys.create({ name: "assistant", scopes: ["memory:read", "memory:write"], subjectId: "sample-4712" });

const agent = new KeepsakeAgent({ url, token: bound.key ?? "" });
await agent.remember({ text: "She drinks tea without sugar.", kind: "preference" });
const prompt = await agent.context({ query: "What does she drink?", maxTokens: 200 });
console.log(prompt.memoryIds.length, prompt.text.includes("without sugar"));
