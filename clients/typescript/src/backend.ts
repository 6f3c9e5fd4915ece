import { headerValue, Http, type CallOptions, type ClientOptions } from "./http.js";
import type { RateLimits } from "./ratelimits.js";
import type * as t from "./types.js";

/** Where the backend listener is, and who calls: the backend secret, an API key with the scope developer:manage, or both. */
export interface BackendOptions extends Omit<ClientOptions, "token"> {
  secret?: string | undefined;
}

/** Calls the backend listener of a server (http://127.0.0.1:8081), for services next to it. */
export class KeepsakeBackend {
  readonly #http: Http;

  constructor(options: BackendOptions) {
    const { secret, ...rest } = options;
    const headers: Record<string, string> = { "Accept-Version": "1" };
    if (secret) headers["X-Keepsake-Backend"] = headerValue("the backend secret", secret);
    this.#http = new Http(rest, headers);
  }

  /** The limits that the last response reported. */
  get rateLimits(): RateLimits | undefined {
    return this.#http.limits;
  }

  /** Verifies a key, and charges it unless consume is false. */
  verify(inquiry: t.Inquiry, options?: CallOptions): Promise<t.Verification> {
    return this.#http.call("backendVerifyAPIKey", { body: inquiry, safe: inquiry.consume === false }, options);
  }

  /** Counts up to 1,000 items in the quotas and the analytics of their keys. Each ID counts once, so the call can be repeated. */
  reportUsage(items: t.ServedRequests[], options?: CallOptions): Promise<t.UsageReceipt> {
    return this.#http.call("backendReportUsage", { body: { items }, safe: true }, options);
  }
}
