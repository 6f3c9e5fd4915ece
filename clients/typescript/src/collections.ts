import type { CallOptions, ChangeOptions, Http } from "./http.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

/** The settings of collections of documents. */
export class Collections {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists collections. */
  list(query?: t.CollectionQuery, options?: CallOptions): List<t.Collection> {
    return this.#http.list("listCollections", { query }, options, (page) => page.items);
  }

  /** Reads one collection. */
  get(collection: string, options?: CallOptions): Promise<t.Collection> {
    return this.#http.call("getCollection", { path: { collection } }, options);
  }

  /** Replaces the settings of a collection. */
  put(collection: string, settings: t.CollectionSettings, options?: ChangeOptions): Promise<t.Collection> {
    return this.#http.call("putCollection", { path: { collection }, body: settings }, options);
  }

  /** Removes the settings of a collection, and no document. */
  async delete(collection: string, options?: ChangeOptions): Promise<void> {
    await this.#http.call("deleteCollection", { path: { collection } }, options);
  }

  /** Lists the languages that a document can have. */
  async languages(options?: CallOptions): Promise<t.Language[]> {
    return (await this.#http.call("listLanguages", {}, options)).items;
  }
}
