import { Admin, AuditLog, Tiers, Users, Workspaces } from "./admin.js";
import { Analytics } from "./analytics.js";
import { ApiKeys } from "./apikeys.js";
import { Auth, ProfileOfUser } from "./auth.js";
import { Collections } from "./collections.js";
import { Documents } from "./documents.js";
import { Http, type CallOptions, type ClientOptions } from "./http.js";
import type { List } from "./list.js";
import { Memories, Subjects } from "./memories.js";
import type { RateLimits } from "./ratelimits.js";
import type * as t from "./types.js";
import { Versions } from "./versions.js";
import { Webhooks } from "./webhooks.js";

/**
 * Calls a Keepsake server.
 *
 *     const keepsake = new Keepsake({ url: "https://search.example.org", apiKey: process.env.KEEPSAKE_KEY });
 *     const found = await keepsake.search("refund policy");
 *
 * A call is repeated, at most `retries` times, if it exceeded a limit (429), if the server or its proxy was unavailable (502, 503,
 * 504), or if the connection failed, and only if a second attempt has no second effect. It waits for as long as the server asks
 * in Retry-After, otherwise for a random time that grows with each retry.
 */
export class Keepsake {
  readonly documents: Documents;
  readonly collections: Collections;
  readonly memories: Memories;
  readonly subjects: Subjects;
  readonly apiKeys: ApiKeys;
  readonly analytics: Analytics;
  readonly auth: Auth;
  readonly profile: ProfileOfUser;
  readonly users: Users;
  readonly workspaces: Workspaces;
  readonly tiers: Tiers;
  readonly auditLog: AuditLog;
  readonly versions: Versions;
  readonly webhooks: Webhooks;
  readonly admin: Admin;
  readonly #http: Http;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    const http = (this.#http = new Http(options));
    this.#options = options;
    this.documents = new Documents(http);
    this.collections = new Collections(http);
    this.memories = new Memories(http);
    this.subjects = new Subjects(http);
    this.apiKeys = new ApiKeys(http);
    this.analytics = new Analytics(http);
    this.auth = new Auth(http);
    this.profile = new ProfileOfUser(http);
    this.users = new Users(http);
    this.workspaces = new Workspaces(http);
    this.tiers = new Tiers(http);
    this.auditLog = new AuditLog(http);
    this.versions = new Versions(http);
    this.webhooks = new Webhooks(http);
    this.admin = new Admin(http);
  }

  /** A client of the same server with a token of `auth.login`, and without an API key. */
  withToken(token: string): Keepsake {
    return new Keepsake({ ...this.#options, apiKey: undefined, token });
  }

  /** The limits that the last response reported. If several calls run at once, they are those of one of them. */
  get rateLimits(): RateLimits | undefined {
    return this.#http.limits;
  }

  /** Finds documents. The query is sent in the body, so that no proxy logs it. */
  search(query: string | t.SearchQuery, options?: CallOptions): List<t.SearchResult, t.Found> {
    const body = typeof query === "string" ? { q: query } : query;
    return this.#http.list("searchPost", { body, safe: true }, options, (page: t.Found) => page.results);
  }

  /** Runs up to 20 searches in one request. Each result is that of the search, or its error, in order. */
  searchMany(searches: t.SearchQuery[], options?: CallOptions): Promise<t.FoundTogether> {
    return this.#http.call("searchMulti", { body: { searches }, safe: true }, options);
  }

  /** Says whether the server works. */
  health(options?: CallOptions): Promise<t.Health> {
    return this.#http.call("health", {}, options);
  }
}
