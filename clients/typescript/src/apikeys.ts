import type { CallOptions, ChangeOptions, CreateOptions, Http } from "./http.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

/** The API keys. */
export class ApiKeys {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a key. Its text is in the response once; it is null if the first response was lost and the call was repeated. */
  create(key: t.NewApiKey, options?: CreateOptions): Promise<t.CreatedApiKey> {
    return this.#http.call("createAPIKey", { body: key }, options);
  }

  /** Reads one key. */
  get(id: string, options?: CallOptions): Promise<t.ApiKey> {
    return this.#http.call("getAPIKey", { path: { id } }, options);
  }

  /** Lists keys, newest first. */
  list(query?: t.ApiKeyQuery, options?: CallOptions): List<t.ApiKey> {
    return this.#http.list("listAPIKeys", { query }, options, (page) => page.items);
  }

  /** Changes the fields that are there. A field that is null is removed. */
  update(id: string, change: t.ApiKeyChange, options?: ChangeOptions): Promise<t.ApiKey> {
    return this.#http.call("changeAPIKey", { path: { id }, body: change }, options);
  }

  /** Gives a key a new text. The old one works until the grace is over. */
  rotate(id: string, rotation: t.ApiKeyRotation = {}, options?: ChangeOptions & CreateOptions): Promise<t.CreatedApiKey> {
    return this.#http.call("rotateAPIKey", { path: { id }, body: rotation }, options);
  }

  /** Ends the grace of a rotation now. */
  completeRotation(id: string, options?: CreateOptions): Promise<t.ApiKey> {
    return this.#http.call("completeAPIKeyRotation", { path: { id } }, options);
  }

  /** Revokes a key for good. */
  revoke(id: string, reason?: string, options?: CreateOptions): Promise<t.ApiKey> {
    return this.#http.call("revokeAPIKey", { path: { id }, body: reason === undefined ? {} : { reason } }, options);
  }

  /** Revokes a key for good; with ifRevision only that revision. */
  async delete(id: string, options?: ChangeOptions): Promise<void> {
    await this.#http.call("deleteAPIKey", { path: { id } }, options);
  }

  /** Reads the usage of a key. */
  usage(id: string, window?: "1h" | "24h" | "7d" | "30d", options?: CallOptions): Promise<t.ApiKeyUsage> {
    return this.#http.call("getAPIKeyUsage", { path: { id }, query: window === undefined ? {} : { window } }, options);
  }

  /** Reads what is left of the limits of a key. */
  limits(id: string, options?: CallOptions): Promise<t.ApiKeyLimits> {
    return this.#http.call("getAPIKeyLimits", { path: { id } }, options);
  }

  /** Says who the API key of this client is, and what it may do. */
  whoami(options?: CallOptions): Promise<t.Self> {
    return this.#http.call("whoami", {}, options);
  }

  /** Verifies a key for a service of your own, and charges it unless consume is false. */
  verify(inquiry: t.Inquiry, options?: CallOptions): Promise<t.Verification> {
    return this.#http.call("verifyAPIKey", { body: inquiry, safe: inquiry.consume === false }, options);
  }
}
