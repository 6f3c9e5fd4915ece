import type { CallOptions, ChangeOptions, CreateOptions, ExportOptions, Http } from "./http.js";
import type { Lines } from "./lines.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

/** The users of a workspace. */
export class Users {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a user. */
  create(user: t.NewUser, options?: CreateOptions): Promise<t.CreatedUser> {
    return this.#http.call("createUser", { body: user }, options);
  }

  /** Reads one user. */
  get(id: string, options?: CallOptions): Promise<t.User> {
    return this.#http.call("getUser", { path: { id } }, options);
  }

  /** Lists users. */
  list(query?: t.UserQuery, options?: CallOptions): List<t.User> {
    return this.#http.list("listUsers", { query }, options, (page) => page.items);
  }

  /** Changes the fields that are there. */
  update(id: string, change: t.UserChange, options?: ChangeOptions): Promise<t.User> {
    return this.#http.call("changeUser", { path: { id }, body: change }, options);
  }

  /** Deletes a user. */
  async delete(id: string, options?: ChangeOptions): Promise<void> {
    await this.#http.call("deleteUser", { path: { id } }, options);
  }

  /** Creates a link over which a user chooses a password. */
  createSetupLink(id: string, options?: CreateOptions): Promise<t.SetupLink> {
    return this.#http.call("createSetupLink", { path: { id } }, options);
  }
}

/** The workspaces of an instance, for its operator. */
export class Workspaces {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a workspace. */
  create(workspace: t.NewWorkspace, options?: CreateOptions): Promise<t.Workspace> {
    return this.#http.call("createWorkspace", { body: workspace }, options);
  }

  /** Reads one workspace. */
  get(id: string, options?: CallOptions): Promise<t.Workspace> {
    return this.#http.call("getWorkspace", { path: { id } }, options);
  }

  /** Lists workspaces. */
  list(query?: t.WorkspaceQuery, options?: CallOptions): List<t.Workspace> {
    return this.#http.list("listWorkspaces", { query }, options, (page) => page.items);
  }

  /** Changes the fields that are there. */
  update(id: string, change: t.WorkspaceChange, options?: ChangeOptions): Promise<t.Workspace> {
    return this.#http.call("changeWorkspace", { path: { id }, body: change }, options);
  }
}

/** The tiers, which set limits and quotas. */
export class Tiers {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists tiers. */
  list(query?: t.TierQuery, options?: CallOptions): List<t.Tier> {
    return this.#http.list("listTiers", { query }, options, (page) => page.items);
  }

  /** Sets the numbers of a tier. */
  put(name: string, numbers: t.TierNumbers, options?: ChangeOptions): Promise<t.Tier> {
    return this.#http.call("changeTier", { path: { name }, body: numbers }, options);
  }
}

/** The log of who did what. */
export class AuditLog {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists entries, newest first. */
  list(query?: t.AuditQuery, options?: CallOptions): List<t.AuditEntry> {
    return this.#http.list("listAuditLog", { query }, options, (page) => page.items);
  }

  /** Reads all entries as lines. */
  export(query?: t.AuditQuery, options?: ExportOptions): Lines<t.AuditEntry> {
    return this.#http.lines("listAuditLog", { query }, options);
  }

  /** Verifies the chain of the log. */
  verify(options?: CallOptions): Promise<t.AuditVerified> {
    return this.#http.call("verifyAuditLog", {}, options);
  }
}

/** What an administrator looks after. */
export class Admin {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Reads the state of caches, limits, indexes and embeddings. */
  cacheStats(options?: CallOptions): Promise<t.CacheStats> {
    return this.#http.call("cacheStats", {}, options);
  }

  /** Creates a new key that signs access tokens. Existing tokens stay valid until they expire. */
  rotateSigningKey(options?: CreateOptions): Promise<t.RotatedSigningKey> {
    return this.#http.call("rotateSigningKey", {}, options);
  }
}
