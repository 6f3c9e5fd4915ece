import type { CallOptions, ChangeOptions, CreateOptions, Http } from "./http.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

/** The versions of the API. */
export class Versions {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the versions with their states. It needs no credential. */
  async published(options?: CallOptions): Promise<t.Version[]> {
    return (await this.#http.call("listVersions", {}, options)).items;
  }

  /** Lists the records of the versions, for administrators. */
  list(query?: t.PageQuery, options?: CallOptions): List<t.VersionRecord> {
    return this.#http.list("listVersionRecords", { query }, options, (page) => page.items);
  }

  /** Reads the record of a version. */
  get(number: number, options?: CallOptions): Promise<t.VersionRecord> {
    return this.#http.call("getVersionRecord", { path: { n: number } }, options);
  }

  /** Moves the sunset of a version to a later time. */
  update(number: number, change: t.VersionChange, options?: ChangeOptions): Promise<t.VersionRecord> {
    return this.#http.call("changeVersion", { path: { n: number }, body: change }, options);
  }

  /** Lists who still calls a version. */
  callers(number: number, query?: t.VersionCallerQuery, options?: CallOptions): List<t.VersionCaller> {
    return this.#http.list("listVersionCallers", { path: { n: number }, query }, options, (page) => page.items);
  }

  /** Releases the next version; the one before becomes deprecated. */
  release(release: t.NewRelease, options?: CreateOptions): Promise<t.VersionRecord> {
    return this.#http.call("releaseVersion", { body: release }, options);
  }

  /** Answers one key as if the version had ended, to test a migration. */
  rehearseSunset(number: number, rehearsal: t.NewRehearsal, options?: CreateOptions): Promise<t.StartedRehearsal> {
    return this.#http.call("rehearseSunset", { path: { n: number }, body: rehearsal }, options);
  }

  /** Removes the routes of a version that has ended. */
  retire(number: number, options?: CreateOptions): Promise<t.VersionRecord> {
    return this.#http.call("retireVersion", { path: { n: number } }, options);
  }
}
