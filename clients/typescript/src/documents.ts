import type { CallOptions, ChangeOptions, CreateOptions, ExportOptions, Http } from "./http.js";
import { bytesOf, upload, uploadTimeoutMs, type DocumentImportOptions, type ImportSource, type RowMapping } from "./import.js";
import type { Lines } from "./lines.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

const longestLine = 4 << 20;

/** The documents, which search finds. */
export class Documents {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Adds a document. An existing ID is a conflict. */
  create(document: t.NewDocument, options?: CreateOptions): Promise<t.Document> {
    return this.#http.call("createDocument", { body: document }, options);
  }

  /** Creates or replaces the document with an ID. With ifRevision, it only replaces that revision. */
  put(id: string, document: t.DocumentFields, options?: ChangeOptions): Promise<t.Document> {
    return this.#http.call("putDocument", { path: { id }, body: document }, options);
  }

  /** Reads one document. */
  get(id: string, options?: CallOptions): Promise<t.Document> {
    return this.#http.call("getDocument", { path: { id } }, options);
  }

  /** Changes the fields that are there. A field that is null is removed, and so is an entry of metadata that is null. */
  update(id: string, change: t.DocumentChange, options?: ChangeOptions): Promise<t.Document> {
    return this.#http.call("changeDocument", { path: { id }, body: change }, options);
  }

  /** Deletes one document. */
  async delete(id: string, options?: ChangeOptions): Promise<void> {
    await this.#http.call("deleteDocument", { path: { id } }, options);
  }

  /** Deletes the documents that are selected, or only counts them: dryRun is true unless it is false. */
  deleteMany(selection: t.DocumentDeletion, options?: CreateOptions): Promise<t.DeletedDocuments> {
    return this.#http.call("deleteDocuments", { body: selection, safe: selection.dryRun !== false }, options);
  }

  /** Lists documents. */
  list(query?: t.DocumentQuery, options?: CallOptions): List<t.Document> {
    return this.#http.list("listDocuments", { query }, options, (page) => page.items);
  }

  /**
   * Stores documents: objects, or NDJSON of any length. It is sent in parts of a few megabytes. A document whose ID exists is
   * replaced. An invalid line does not affect the others; the result counts them.
   */
  import(source: ImportSource<t.NewDocument>, options?: DocumentImportOptions): Promise<t.DocumentImport>;
  import(source: ImportSource<object>, options: DocumentImportOptions & { rows: RowMapping }): Promise<t.DocumentImport>;
  import(source: ImportSource<object>, options: DocumentImportOptions = {}): Promise<t.DocumentImport> {
    const { rows = {}, ...others } = options;
    const empty = { received: 0, created: 0, replaced: 0, deleted: 0, failed: 0, errors: [], issues: [] };
    return upload(this.#http, "importDocuments", source, { empty, longestLine, query: rows, derivesIds: true, whole: rows.replace === true }, others);
  }

  /** Stores the rows of a CSV file with a header row, of at most 64 MiB. `rows` says which columns become which fields. */
  async importCsv(source: ImportSource<never>, options: CreateOptions & { rows?: RowMapping } = {}): Promise<t.DocumentImport> {
    const { rows, ...others } = options;
    const bytes = await bytesOf(source);
    return this.#http.call("importDocuments", { query: rows, bytes, media: "text/csv" }, { timeoutMs: uploadTimeoutMs, ...others });
  }

  /** Reads the documents of a collection, or all, as import takes them. */
  export(query?: { collection?: string }, options?: ExportOptions): Lines<t.PortableDocument> {
    return this.#http.lines("exportDocuments", { query }, options);
  }
}
