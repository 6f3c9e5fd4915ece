import { ApiError, ConnectionError, KeepsakeError, RateLimitError, RedirectError, TimeoutError, UnexpectedAnswerError } from "./errors.js";
import { Attempts, causeOf, retryAfterMs, systemClock, type Clock, type RetryOptions } from "./retry.js";
import { Lines, type ExportProgress } from "./lines.js";
import { List } from "./list.js";
import { rateLimitsOf, type RateLimits } from "./ratelimits.js";
import { routes } from "./routes.js";
import { version } from "./version.js";
import { warnOfDeprecation } from "./deprecation.js";
import type { operations } from "./openapi.js";

/** The ID of an operation of the API. */
export type Operation = keyof typeof routes & keyof operations;

type Content<R, M extends string> = R extends { content: { [media in M]: infer A } } ? A : never;

/** The parameters in the query of an operation. */
export type Query<O extends Operation> = NonNullable<operations[O]["parameters"]["query"]>;
/** The JSON body of a request. */
export type Body<O extends Operation> = Content<NonNullable<operations[O] extends { requestBody?: infer B } ? B : never>, "application/json">;
type Success<O extends Operation> = operations[O]["responses"][keyof operations[O]["responses"] & (200 | 201 | 202)];
/** The JSON of a response. It is never for an operation whose response has no content. */
export type Answer<O extends Operation> = Content<Success<O>, "application/json">;
/** A line of an export. */
export type Line<O extends Operation> = Content<Success<O>, "application/x-ndjson">;

/** What every call takes. */
export interface CallOptions extends RetryOptions {
  /** Ends the call and its retries. The call fails with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /**
   * How long one attempt can take, in milliseconds: of an export, how long the next bytes can take. The default is 60,000. An
   * attempt that takes longer is not repeated. 0 means forever.
   */
  timeoutMs?: number | undefined;
}

/** What a call takes that creates something, or starts something. */
export interface CreateOptions extends CallOptions {
  /**
   * An Idempotency-Key of 8 to 255 printable characters. Without it, each call has a random key. A program that stores the key
   * before the call can repeat the call after a crash. Use a key for one call: the same key with another request is an error.
   */
  idempotencyKey?: string | undefined;
}

/** What a call takes that changes something. */
export interface ChangeOptions extends CallOptions {
  /** The revision that the change is for. If there is a newer one, the call fails with revision_mismatch (412). */
  ifRevision?: number | undefined;
}

/** What an export takes. */
export interface ExportOptions extends CallOptions {
  /** Called after each chunk that was read. */
  onProgress?: ((progress: ExportProgress) => void) | undefined;
}

/** Where the server is, and who calls. */
export interface ClientOptions extends CallOptions {
  /** The address of the server: https://search.example.org, without /api. */
  url: string;
  /** The API key. It can be left out for calls that need none. */
  apiKey?: string | undefined;
  /** A token of `auth.login`, or another bearer token. If an operation accepts both, the server uses the API key. */
  token?: string | undefined;
  /** Replaces fetch. */
  fetch?: typeof fetch | undefined;
  /** Prints a warning. The default is console.warn. */
  warn?: ((message: string) => void) | undefined;
  /** Replaces the time and the waits of retries, for tests that must not wait. */
  clock?: Clock | undefined;
}

/** What is sent. @internal */
export interface Input<O extends Operation> {
  path?: Record<string, string | number>;
  query?: Query<O> | undefined;
  body?: Body<O> | undefined;
  /** The body of an import. */
  bytes?: Uint8Array;
  /** Its media type. */
  media?: string;
  /** No Idempotency-Key is sent. */
  keyless?: boolean;
  /** A POST without an Idempotency-Key that can be repeated. */
  safe?: boolean;
  /** Not repeated if its response is lost. */
  once?: boolean;
  /** How long a retry has no second effect, in milliseconds. */
  withinMs?: number;
  /** The media type of the response; JSON if it is left out. */
  accept?: string;
}

type AnyOptions = CallOptions & { idempotencyKey?: string | undefined; ifRevision?: number | undefined };

const mediaLines = "application/x-ndjson";

/** Http sends requests to one server with one credential. @internal */
export class Http {
  limits: RateLimits | undefined;
  readonly #base: string;
  readonly #origin: string;
  readonly #options: ClientOptions;
  readonly #headers: Record<string, string>;
  readonly #clock: Clock;

  constructor(options: ClientOptions, headers: Record<string, string> = {}) {
    const url = parseUrl(options.url);
    this.#base = url.origin + url.pathname.replace(/\/+$/, "");
    this.#origin = url.origin;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#headers = { ...headers };
    if (options.apiKey) this.#headers["X-API-Key"] = headerValue("the API key", options.apiKey);
    if (options.token) this.#headers["Authorization"] = `Bearer ${headerValue("the token", options.token)}`;
    // A page or a worker of a browser sends the browser's own, and would first ask the server for permission to send another.
    if (!inBrowser()) this.#headers["User-Agent"] = `keepsake-typescript/${version}`;
  }

  /** call sends a request, repeats it if necessary, and returns the JSON of the response. */
  async call<O extends Operation>(operation: O, input: Input<O> = {}, options: AnyOptions = {}): Promise<Answer<O>> {
    return this.#run(operation, input, options, async (response, where) => {
      const text = await readText(response, where);
      if (text === "" && (response.status === 204 || response.status === 202)) return undefined as Answer<O>;
      const answer = parseJson(text);
      if (answer === undefined) throw unexpected(response, where);
      return answer as Answer<O>;
    });
  }

  /** text is call for a response that is a text. */
  async table<O extends Operation>(operation: O, input: Input<O>, options: AnyOptions = {}): Promise<string> {
    return this.#run(operation, { ...input, accept: "text/csv" }, options, async (response, where) => {
      const text = await readText(response, where);
      if (!contentType(response).startsWith("text/csv")) throw unexpected(response, where);
      return text;
    });
  }

  /** list returns a list whose pages are the responses. */
  list<O extends Operation, T, P extends Answer<O> & { nextCursor: string | null }>(
    operation: O,
    input: Input<O>,
    options: CallOptions | undefined,
    items: (page: P) => T[],
  ): List<T, P> {
    const read = (cursor: string | undefined) => {
      let next = input;
      if (cursor !== undefined && input.body !== undefined) next = { ...input, body: { ...(input.body as object), cursor } as Body<O> };
      else if (cursor !== undefined) next = { ...input, query: { ...input.query, cursor } as Query<O> };
      return this.call(operation, next, options) as Promise<P>;
    };
    const itemsOf = (page: P): T[] => {
      const list: unknown = items(page);
      if (Array.isArray(list)) return list as T[];
      throw new UnexpectedAnswerError(`${this.#where(operation)}: the answer is no list; check the address`, 200, "application/json");
    };
    return new List<T, P>(read, itemsOf);
  }

  /** lines returns the lines of an export. */
  lines<O extends Operation>(operation: O, input: Input<O>, options: ExportOptions = {}): Lines<Line<O>> {
    const where = this.#where(operation);
    const cut = (lines: number) => new ConnectionError(`${where}: the connection ended after ${lines} whole lines, and the export is not complete`);
    return new Lines<Line<O>>(() => this.#stream(operation, input, options), cut, options.onProgress);
  }

  async *#stream<O extends Operation>(operation: O, input: Input<O>, options: CallOptions): AsyncGenerator<Uint8Array, void, undefined> {
    const timer = new Timer(this.#timeout(options), options.signal ?? this.#options.signal);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    const where = this.#where(operation);
    try {
      const response = await this.#run(operation, { ...input, accept: mediaLines }, options, async (response) => {
        if (!contentType(response).startsWith(mediaLines)) throw unexpected(response, where);
        return response;
      }, timer);
      reader = response.body?.getReader();
      if (reader === undefined) return;
      for (;;) {
        timer.start();
        const { done, value } = await reader.read().catch((error: unknown) => {
          throw timer.explain(where) ?? new ConnectionError(`${where}: the connection ended within the export, which is not complete`, { cause: error });
        });
        timer.stop();
        if (done) return;
        yield value;
      }
    } finally {
      timer.end();
      await reader?.cancel().catch(() => undefined);
    }
  }

  #timeout(options: CallOptions): number {
    return options.timeoutMs ?? this.#options.timeoutMs ?? 60_000;
  }

  // The method and the path without IDs, for errors.
  #where(operation: Operation): string {
    const [method, path] = routes[operation];
    return `${method} ${this.#base}${path}`;
  }

  async #run<O extends Operation, T>(
    operation: O,
    input: Input<O>,
    options: AnyOptions,
    read: (response: Response, where: string) => Promise<T>,
    streaming?: Timer,
  ): Promise<T> {
    const [method, template, keyed] = routes[operation] as readonly [string, string, "keyed"?];
    const signal = options.signal ?? this.#options.signal;
    const url = this.#base + fillPath(template, input.path ?? {}) + queryOf(input.query);
    const headers: Record<string, string> = { ...this.#headers, Accept: input.accept ?? "application/json" };
    let key: string | undefined;
    if (keyed !== undefined && !input.safe && !input.keyless) key = headers["Idempotency-Key"] = options.idempotencyKey ?? randomKey();
    if (options.ifRevision !== undefined) headers["If-Match"] = `"${options.ifRevision}"`;
    let body: BodyInit | undefined;
    if (input.bytes !== undefined) {
      headers["Content-Type"] = input.media ?? mediaLines;
      body = input.bytes as Uint8Array<ArrayBuffer>;
    } else if (input.body !== undefined) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(input.body);
    }
    const request = { method, key, safe: input.safe === true, once: input.once === true, withinMs: input.withinMs ?? 0 };
    const where = this.#where(operation);
    const attempts = new Attempts(request, { ...definedOnly(this.#options), ...definedOnly(options) }, this.#clock);
    for (;;) {
      signal?.throwIfAborted();
      const timer = streaming ?? new Timer(this.#timeout(options), signal);
      try {
        timer.start();
        const response = await this.#send(url, { method, headers, redirect: "manual", signal: timer.signal, ...(body === undefined ? {} : { body }) }, where, template);
        return await read(response, where);
      } catch (thrown) {
        const error = signal?.aborted ? signal.reason : (timer.explain(where) ?? thrown);
        const wait = attempts.next(error);
        if (error instanceof ApiError) error.attempts = attempts.made;
        if (wait === undefined) throw error;
        timer.stop();
        await this.#clock.sleep(wait, signal);
      } finally {
        if (streaming === undefined) timer.end();
        else timer.stop();
      }
    }
  }

  // send sends a request once and returns a successful response.
  async #send(url: string, init: RequestInit, where: string, template: string): Promise<Response> {
    let response: Response;
    try {
      response = await (this.#options.fetch ?? fetch)(url, init);
    } catch (error) {
      throw new ConnectionError(`${where}: ${reasonOf(error, url)}`, { cause: error });
    }
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel().catch(() => undefined);
      throw redirected(response, where);
    }
    this.limits = rateLimitsOf(response.headers) ?? this.limits;
    warnOfDeprecation(this.#origin, response.headers, this.#options.warn ?? ((message) => console.warn(message)));
    if (response.ok) return response;
    throw await errorOf(response, where, template, this.#clock.now());
  }
}

// inBrowser: in a page or a worker of a browser. Node, Deno and Bun have process.
function inBrowser(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return process?.versions?.node === undefined && "location" in globalThis;
}

// reasonOf returns why fetch has failed, without the address, which Deno puts into its message with its query.
function reasonOf(error: unknown, url: string): string {
  const reason = error instanceof Error ? causeOf(error).message || error.message : String(error);
  const hint = inBrowser() ? "; if the server works, it may not let the origin of this page in (cors.origins)" : "";
  return reason.replaceAll(new URL(url).href, "the address").replaceAll(url, "the address") + hint;
}

// Timer ends an attempt that takes too long, or whose signal is aborted.
class Timer {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #expired = false;
  readonly #abort = () => this.#controller.abort(this.outer?.reason);

  constructor(
    private readonly timeoutMs: number,
    private readonly outer: AbortSignal | undefined,
  ) {
    if (outer?.aborted) this.#abort();
    outer?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  start(): void {
    this.stop();
    if (this.timeoutMs === 0) return;
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.#controller.abort();
    }, this.timeoutMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.stop();
    this.outer?.removeEventListener("abort", this.#abort);
  }

  // explain returns why the timer has ended an attempt, if it has.
  explain(where: string): unknown {
    if (this.outer?.aborted) return this.outer.reason;
    if (this.#expired) return new TimeoutError(`${where}: no answer within ${this.timeoutMs} ms`);
    return undefined;
  }
}

function parseUrl(text: string): URL {
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch {
    // The error is below.
  }
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:") || url.search !== "" || url.hash !== "")
    throw new KeepsakeError("url must look like https://search.example.org");
  if (url.username !== "" || url.password !== "") throw new KeepsakeError("url must not contain a user name or a password");
  return url;
}

// headerValue refuses a credential that cannot be sent in a header, such as one that was read from a file with its line end.
export function headerValue(name: string, value: string): string {
  if (!/^[\x21-\x7e]+$/.test(value)) throw new KeepsakeError(`${name} must have only printable ASCII characters and no spaces`);
  return value;
}

// fillPath puts IDs into the template of a path. An ID that would lead to another path is refused.
function fillPath(template: string, values: Record<string, string | number>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined || value === null || ["", ".", ".."].includes(String(value)))
      throw new KeepsakeError(`${name} must be the ID of something, and is ${JSON.stringify(value) ?? "undefined"}`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: object | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) parameters.append(name, String(one));
    }
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function definedOnly<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}

const contentType = (response: Response) => response.headers.get("Content-Type") ?? "";

async function readText(response: Response, where: string): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw new ConnectionError(`${where}: the connection ended within the answer`, { cause: error });
  }
}

// parseJson returns the object or the array that a text has, or undefined.
function parseJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function unexpected(response: Response, where: string, waitMs = 0, now = 0): UnexpectedAnswerError {
  const type = contentType(response).split(";")[0] || "no content type";
  const again = waitMs > 0 ? ` It can be repeated from ${new Date(now + waitMs).toISOString()} on.` : "";
  return new UnexpectedAnswerError(
    `${where}: the answer is not one of Keepsake (${response.status}, ${type}); check the address, or the proxy in front of the server.${again}`,
    response.status,
    contentType(response),
    waitMs,
  );
}

function redirected(response: Response, where: string): RedirectError {
  let to = "another address";
  try {
    to = new URL(response.headers.get("Location") ?? "", response.url || undefined).origin;
  } catch {
    // A browser does not say where a redirect leads.
  }
  return new RedirectError(`${where}: the server redirects to ${to}; nothing was sent there. If that is the right address, use it`);
}

// errorOf reads an error response.
async function errorOf(response: Response, where: string, template: string, now: number): Promise<KeepsakeError> {
  const parsed = (parseJson(await readText(response, where)) ?? {}) as Record<string, unknown>;
  const wait = retryAfterMs(response.headers.get("Retry-After"), now);
  if (typeof parsed["error"] !== "string") return unexpected(response, where, wait, now);
  const code = parsed["error"];
  const details = (parsed["details"] ?? {}) as ApiError["details"];
  let message = String(parsed["message"] ?? code);
  if (details.field !== undefined) message += ` (${details.field}: ${details.issue})`;
  if (details.issue === "unknown") message += " The server is older than this client, or the name is wrong.";
  if (response.status === 404 && code === "not_found" && !template.includes("{"))
    message += " The server is older than this client, or the address is wrong.";
  const retryAt = wait > 0 ? new Date(now + wait) : undefined;
  if (response.status === 429 && retryAt !== undefined) message += ` It can be repeated from ${retryAt.toISOString()} on.`;
  const text = (name: string) => (typeof parsed[name] === "string" ? parsed[name] : undefined);
  const fields = {
    message,
    status: response.status,
    code,
    details,
    requestId: text("requestId") ?? response.headers.get("X-Request-Id") ?? "",
    retryAfterMs: wait,
    retryAt,
    replacementVersion: text("replacementVersion") ?? (code === "version_not_found" ? (response.headers.get("X-API-Version") ?? undefined) : undefined),
    migrationGuideUrl: text("migrationGuideUrl"),
  };
  return response.status === 429 ? new RateLimitError(fields) : new ApiError(fields);
}
