import { Http, type CallOptions, type ClientOptions, type CreateOptions } from "./http.js";
import type { RateLimits } from "./ratelimits.js";
import type * as t from "./types.js";

/**
 * Calls the AI services of a server, for an agent. `token` is an API key, which can be bound to one person: then a call names no
 * subject.
 */
export class KeepsakeAgent {
  readonly #http: Http;

  constructor(options: Omit<ClientOptions, "apiKey"> & { token: string }) {
    const { url, token, ...rest } = options;
    this.#http = new Http({ ...rest, url, token }, { "Accept-Version": "1" });
  }

  /** The limits that the last response reported. */
  get rateLimits(): RateLimits | undefined {
    return this.#http.limits;
  }

  /** Stores a memory. */
  remember(memory: t.NewMemory, options?: CreateOptions): Promise<t.StoredMemory> {
    return this.#http.call("aiCreateMemory", { body: memory }, options);
  }

  /** Finds the memories that answer a question. */
  recall(query: t.RecallQuery, options?: CallOptions): Promise<t.Recalled> {
    return this.#http.call("aiRecall", { body: query, safe: true }, options);
  }

  /** Packs memories into a text of limited length, for a prompt. */
  context(query: t.ContextQuery, options?: CallOptions): Promise<t.PackedContext> {
    return this.#http.call("aiRecallContext", { body: query, safe: true }, options);
  }
}
