// What the client must do in every runtime. It uses nothing of Node: a page of a browser, a worker and Deno run it, too.
import type * as Client from "@keepsake/client";

/** What the checks run on. */
export interface Place {
  /** The program, which lets the origin of a page in. */
  url: string;
  apiKey: string;
  password: string;
  /** Another server. It answers /page/… with HTML, and /moved/… with a redirect. A page can read it. */
  elsewhere: string;
  /** The name of the runtime, so that each has documents and people of its own. */
  name: string;
}

/** Runs all checks with a module of the client. Returns the names of those that passed, and throws at the first that does not. */
export async function run(client: typeof Client, place: Place): Promise<string[]> {
  const passed: string[] = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(client, place, new client.Keepsake({ url: place.url, apiKey: place.apiKey }));
    } catch (error) {
      const { stack, message } = error as Error;
      throw new Error(`${name}: ${message}\n${stack}`, { cause: error });
    }
    passed.push(name);
  }
  return passed;
}

function same(got: unknown, want: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) throw new Error(`got ${a}, want ${b}`);
}

function holds(condition: boolean, what: unknown): void {
  if (!condition) throw new Error(`unexpected: ${typeof what === "string" ? what : JSON.stringify(what)}`);
}

async function thrown<E extends Error>(call: () => PromiseLike<unknown>, type: new (...args: never[]) => E): Promise<E> {
  try {
    await call();
  } catch (error) {
    if (error instanceof type) return error;
    throw error;
  }
  throw new Error("the call did not fail");
}

const titles = (count: number, collection: string) =>
  Array.from({ length: count }, (_, n) => ({ id: `${collection}-${n}`, title: `Roll ${n}`, collection }));

type Check = (client: typeof Client, place: Place, keepsake: Client.Keepsake) => Promise<void>;

const checks: Record<string, Check> = {
  "documents are stored and found": async (_, { name }, keepsake) => {
    const collection = `${name}-bread`;
    const put = await keepsake.documents.put(`${name}-rye`, { collection, title: "Rye bread", text: "Twenty hours of sourdough." });
    const made = await keepsake.documents.create({ collection, title: "Wheat bread", text: "Two hours of yeast." });
    const changed = await keepsake.documents.update(put.id, { title: "Dark rye bread" }, { ifRevision: put.revision });
    same((await keepsake.search({ q: "sourdough", collection })).results.map((r) => r.title), [changed.title]);
    await keepsake.documents.delete(made.id);
  },

  "an error has its field and the ID of the request": async ({ ApiError }, _, keepsake) => {
    const error = await thrown(() => keepsake.apiKeys.create({ name: "x", scopes: ["reed" as "read"] }), ApiError);
    same([error.status, error.code, error.field, error.issue], [400, "validation_error", "scopes[0]", "not_allowed"]);
    holds(error.requestId.startsWith("req_"), error.requestId);
  },

  "a stream is imported with progress, listed by pages and exported": async (_, { name }, keepsake) => {
    const collection = `${name}-rolls`;
    const text = titles(5_003, collection).map((d) => JSON.stringify(d) + "\n").join("");
    const lines: number[] = [];
    const result = await keepsake.documents.import(new Blob([text]).stream() as ReadableStream<Uint8Array>, { onProgress: (p) => lines.push(p.lines) });
    same([result.received, result.created, result.failed, lines], [5_003, 5_003, 0, [5_000, 5_003]]);

    let listed = 0;
    const ids = new Set<string>();
    for await (const document of keepsake.documents.list({ collection, limit: 200 })) {
      ids.add(document.id);
      if (++listed === 450) break;
    }
    same([listed, ids.size], [450, 450]);

    let seen = 0;
    let progress = { bytes: 0, lines: 0 };
    const exported = keepsake.documents.export({ collection }, { onProgress: (p) => (progress = p) });
    for await (const document of exported) seen += document.collection === collection ? 1 : 0;
    same([seen, progress.lines], [5_003, 5_003]);
    const body = await new Response(exported.stream()).text();
    same(body.length, progress.bytes);
  },

  "a CSV file is imported": async (_, { name }, keepsake) => {
    const file = new Blob(["sku,name\n7,Tea\n8,Coffee\n"], { type: "text/csv" });
    const result = await keepsake.documents.importCsv(file, { rows: { id: "sku", title: "name", into: `${name}-shop` } });
    same([result.received, result.failed], [2, 0]);
  },

  "the limits can be read, and so can the time when one ends": async ({ Keepsake, RateLimitError }, { url, name }, keepsake) => {
    const { key, id } = await keepsake.apiKeys.create({ name: `${name} page`, scopes: ["read"], rateLimit: { requestsPerMinute: 1 } });
    const narrow = new Keepsake({ url, apiKey: key ?? "", maxWaitMs: 0 });
    const error = await thrown(async () => {
      for (let n = 0; n < 5; n++) await narrow.documents.list();
    }, RateLimitError);
    same([error.status, error.policy, narrow.rateLimits?.key?.limit], [429, "key_minute", 1]);
    holds(error.retryAt instanceof Date && error.retryAfterMs > 0 && error.retryAfterMs <= 60_000, error.retryAfterMs);
    await keepsake.apiKeys.revoke(id);
  },

  "an aborted call fails with the reason, and so does an export": async ({ Keepsake }, { url, apiKey }) => {
    const stop = new AbortController();
    const aborting = new Keepsake({
      url,
      apiKey,
      fetch: (...args) => {
        const call = fetch(...args);
        stop.abort(new Error("enough"));
        return call;
      },
    });
    same((await thrown(() => aborting.documents.list({}, { signal: stop.signal }), Error)).message, "enough");
    const within = new AbortController();
    const error = await thrown(async () => {
      for await (const _ of new Keepsake({ url, apiKey }).documents.export({}, { signal: within.signal })) within.abort(new Error("no more"));
    }, Error);
    same(error.message, "no more");
  },

  "no connection is an error that contains no query": async ({ Keepsake, ConnectionError }) => {
    const nobody = new Keepsake({ url: "http://127.0.0.1:1", apiKey: "kpsk_x", retries: 0 });
    const { message } = await thrown(() => nobody.memories.list({ subjectId: "ada" }), ConnectionError);
    holds(message.startsWith("GET http://127.0.0.1:1/api/v1/memories: ") && !message.includes("ada"), message);
  },

  "a page of another server is not an answer, and no redirect is followed": async ({ Keepsake, UnexpectedAnswerError, RedirectError }, { elsewhere }) => {
    const page = await thrown(() => new Keepsake({ url: `${elsewhere}/page` }).health(), UnexpectedAnswerError);
    same([page.status, page.contentType.split(";")[0]], [200, "text/html"]);
    await thrown(() => new Keepsake({ url: `${elsewhere}/moved`, retries: 0 }).health(), RedirectError);
  },

  "a user signs in": async (_, { password }, keepsake) => {
    const tokens = await keepsake.auth.login("admin@localhost", password);
    const user = keepsake.withToken(tokens.accessToken);
    same((await user.profile.get()).email, "admin@localhost");
    await user.auth.logout();
  },

  "a person is remembered, recalled and erased with a receipt": async ({ verifyReceipt }, { name }, keepsake) => {
    const subjectId = `${name}-4711`;
    await keepsake.memories.create({ subjectId, text: "Her bicycle is green." });
    const recalled = await keepsake.memories.recall({ subjectId, query: "What colour is the bike?" });
    same(recalled.results[0]?.memory.text, "Her bicycle is green.");
    const signer = await verifyReceipt(await keepsake.subjects.erase(subjectId), await keepsake.auth.signingKeys());
    holds(signer.workspaceId.startsWith("wsp_"), signer.workspaceId);
  },

  "a webhook without a signature is refused": async ({ verifyWebhook, VerificationError }) => {
    await thrown(() => verifyWebhook("{}", new Headers(), "whsec_c2VjcmV0"), VerificationError);
  },
};
