import type { CallOptions, Http } from "./http.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

/** The reports that `analytics.table` returns. */
export type Report = "summary" | "series" | "top" | "quotas" | "versions" | "errors" | "requests";

/** Who uses what. */
export class Analytics {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Reads the usage of a period. */
  summary(query?: t.UsageQuery, options?: CallOptions): Promise<t.UsageSummary> {
    return this.#http.call("getUsageSummary", { query }, options);
  }

  /** Reads the usage of a period by intervals. */
  series(query?: t.UsageQuery, options?: CallOptions): Promise<t.UsageSeries> {
    return this.#http.call("getUsageSeries", { query }, options);
  }

  /** Lists the groups with the most requests. */
  async top(query?: t.UsageQuery, options?: CallOptions): Promise<t.RankedUsage[]> {
    return (await this.#http.call("getTopUsage", { query }, options)).items;
  }

  /** Reads what is used of the quotas, of the workspace and of its keys. */
  quotas(query?: { workspace?: string }, options?: CallOptions): Promise<t.QuotaUsage> {
    return this.#http.call("getQuotaUsage", { query }, options);
  }

  /** Lists how often each version of the API was called. */
  async versions(query?: t.UsageQuery, options?: CallOptions): Promise<t.VersionUse[]> {
    return (await this.#http.call("getVersionUsage", { query }, options)).items;
  }

  /** Counts error responses by route, status and code. */
  async errors(query?: t.UsageQuery, options?: CallOptions): Promise<t.ErrorCount[]> {
    return (await this.#http.call("listErrors", { query }, options)).items;
  }

  /** Lists requests, newest first. */
  requests(query?: t.RequestQuery, options?: CallOptions): List<t.LoggedRequest, t.RequestPage> {
    return this.#http.list("listRequests", { query }, options, (page: t.RequestPage) => page.items);
  }

  /** Reads a report as CSV. */
  table(report: Report, query?: t.UsageQuery, options?: CallOptions): Promise<string> {
    return this.#http.table(reports[report], { query }, options);
  }
}

const reports = {
  summary: "getUsageSummary",
  series: "getUsageSeries",
  top: "getTopUsage",
  quotas: "getQuotaUsage",
  versions: "getVersionUsage",
  errors: "listErrors",
  requests: "listRequests",
} as const;
