// How a call can fail, and what each error says.
import { ApiError, ConnectionError, Keepsake, RateLimitError } from "@keepsake/client";

const keepsake = new Keepsake({
  url: process.env.KEEPSAKE_URL ?? "http://localhost:8080",
  apiKey: process.env.KEEPSAKE_KEY,
  timeoutMs: 10_000,
  retries: 5,
  maxWaitMs: 10_000,
});

try {
  await keepsake.documents.get("never-stored");
} catch (error) {
  if (error instanceof RateLimitError) console.log("come back at", error.retryAt, error.policy);
  else if (error instanceof ApiError) console.log(error.status, error.code, error.field ?? "-", error.requestId !== "");
  else if (error instanceof ConnectionError) console.log("no answer:", error.message);
  else throw error;
}

const limits = keepsake.rateLimits;
if (limits?.key) console.log("limits are known:", limits.key.remaining <= limits.key.limit);
