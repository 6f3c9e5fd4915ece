import type { CallOptions, ChangeOptions, CreateOptions, ExportOptions, Http } from "./http.js";
import { upload, type ImportOptions, type ImportSource } from "./import.js";
import type { Lines } from "./lines.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

const longestLine = 33 << 20;

/** What is remembered about people. */
export class Memories {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Stores a memory. A repeat of one that is stored returns that one, with deduplicated: true. */
  create(memory: t.NewMemory, options?: CreateOptions): Promise<t.StoredMemory> {
    return this.#http.call("createMemory", { body: memory }, options);
  }

  /** Stores up to 1,000 memories. With atomic, either all are stored or none. */
  createMany(items: t.NewMemory[], options: CreateOptions & { atomic?: boolean } = {}): Promise<t.MemoryBatch> {
    const { atomic, ...call } = options;
    return this.#http.call("createMemories", { body: { items, ...(atomic === undefined ? {} : { atomic }) } }, call);
  }

  /** Reads one memory. */
  get(id: string, options?: CallOptions): Promise<t.Memory> {
    return this.#http.call("getMemory", { path: { id } }, options);
  }

  /** Changes the fields that are there. A field that is null is removed. */
  update(id: string, change: t.MemoryChange, options?: ChangeOptions): Promise<t.Memory> {
    return this.#http.call("changeMemory", { path: { id }, body: change }, options);
  }

  /** Erases one memory. */
  async delete(id: string, options?: ChangeOptions): Promise<void> {
    await this.#http.call("deleteMemory", { path: { id } }, options);
  }

  /** Lists memories, newest first. */
  list(query?: t.MemoryQuery, options?: CallOptions): List<t.Memory> {
    return this.#http.list("listMemories", { query }, options, (page) => page.items);
  }

  /** Lists the revisions of a memory. */
  history(id: string, query?: t.PageQuery, options?: CallOptions): List<t.MemoryRevision> {
    return this.#http.list("getMemoryHistory", { path: { id }, query }, options, (page) => page.items);
  }

  /** Finds the memories of a subject that answer a question. */
  recall(query: t.RecallQuery, options?: CallOptions): Promise<t.Recalled> {
    return this.#http.call("recall", { body: query, safe: true }, options);
  }

  /** Packs memories of a subject into a text of limited length, for a prompt. */
  context(query: t.ContextQuery, options?: CallOptions): Promise<t.PackedContext> {
    return this.#http.call("recallContext", { body: query, safe: true }, options);
  }

  /** Lists the memories that a query selects in a plan. Nothing is erased before forget. */
  async planForget(query: t.ForgetQuery, options?: CallOptions): Promise<t.ForgetPlan> {
    return (await this.#http.call("forgetMemories", { body: { ...query, dryRun: true }, safe: true }, options)) as t.ForgetPlan;
  }

  /** Erases the memories of a plan, and returns their number. */
  async forget(plan: { subjectId?: string; planId: string }, options?: CreateOptions): Promise<number> {
    return (await this.#http.call("forgetMemories", { body: { ...plan, dryRun: false } }, options)).forgotten ?? 0;
  }

  /** Stores memories: objects, or NDJSON as subjects.export returns it. A line whose memory was erased is refused. */
  import(source: ImportSource<t.NewMemory | t.PortableMemory>, options?: ImportOptions<t.MemoryImport>): Promise<t.MemoryImport> {
    const empty = { received: 0, created: 0, replaced: 0, unchanged: 0, failed: 0, errors: [], issues: [] };
    return upload(this.#http, "importMemories", source, { empty, longestLine, derivesIds: false }, options);
  }
}

/** The people whom memories are about. */
export class Subjects {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the subjects with memories, in no particular order. */
  list(query?: t.PageQuery, options?: CallOptions): List<t.Subject> {
    return this.#http.list("listSubjects", { query }, options, (page) => page.items);
  }

  /** Reads the counts of one subject. */
  get(subjectId: string, options?: CallOptions): Promise<t.Subject> {
    return this.#http.call("getSubject", { path: { subjectId } }, options);
  }

  /**
   * Erases a subject: the data key is destroyed and the memories are deleted. It cannot be undone. The receipt is returned once, so
   * the call is not repeated if its response is lost. `verifyReceipt` verifies it.
   */
  erase(subjectId: string, options?: CallOptions): Promise<t.Receipt> {
    return this.#http.call("eraseSubject", { path: { subjectId }, once: true }, options);
  }

  /** Reads a subject's memories with their history, oldest first. */
  export(subjectId: string, options?: ExportOptions): Lines<t.PortableMemory> {
    return this.#http.lines("exportSubject", { path: { subjectId } }, options);
  }

  /** Lists who read or changed the memories of a subject, newest first. */
  accessLog(subjectId: string, query?: t.PageQuery, options?: CallOptions): List<t.Access> {
    return this.#http.list("listSubjectAccesses", { path: { subjectId }, query }, options, (page) => page.items);
  }
}
