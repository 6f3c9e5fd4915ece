/** A page of a list. nextCursor is null on the last page. */
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/**
 * A list that is read page by page.
 *
 *     const page = await keepsake.documents.list();                     // the first page
 *     for await (const document of keepsake.documents.list()) { … }     // all items
 *
 * Nothing is sent before it is awaited or iterated. An iteration ends at the first error. Items that are written or deleted
 * meanwhile can be missing from it.
 */
export class List<T, P extends { nextCursor: string | null } = Page<T>> implements Promise<P>, AsyncIterable<T> {
  readonly [Symbol.toStringTag] = "List";
  #first: Promise<P> | undefined;
  readonly #read: (cursor: string | undefined) => Promise<P>;
  readonly #items: (page: P) => T[];

  /** @internal */
  constructor(read: (cursor: string | undefined) => Promise<P>, items: (page: P) => T[]) {
    this.#read = read;
    this.#items = items;
  }

  #page(): Promise<P> {
    return (this.#first ??= this.#read(undefined));
  }

  then<A = P, B = never>(ok?: ((page: P) => A | PromiseLike<A>) | null, failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return this.#page().then(ok, failed);
  }

  catch<B = never>(failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<P | B> {
    return this.#page().catch(failed);
  }

  finally(done?: (() => void) | null): Promise<P> {
    return this.#page().finally(done);
  }

  /** All pages. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let page = await this.#read(undefined);
    for (;;) {
      yield page;
      if (!page.nextCursor) return; // an older server can leave it out
      page = await this.#read(page.nextCursor);
    }
  }

  /** All items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* this.#items(page);
  }
}
