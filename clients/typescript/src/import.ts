import { KeepsakeError } from "./errors.js";
import type { Answer, CreateOptions, Http, Query } from "./http.js";

/**
 * What an import reads: objects, or NDJSON (one JSON object per line) as a text, bytes, a Blob or a stream of any length. A
 * stream can be one of Node, too.
 */
export type ImportSource<T> =
  | string
  | Uint8Array
  | Blob
  | ReadableStream<Uint8Array | string>
  | Iterable<T | Uint8Array | string>
  | AsyncIterable<T | Uint8Array | string>;

/** How far an import is. */
export interface ImportProgress<R> {
  /** Bytes that were sent. */
  bytes: number;
  /** Lines that were sent. */
  lines: number;
  /** The result up to here. */
  result: R;
}

/** What an import takes. */
export interface ImportOptions<R> extends CreateOptions {
  /** Called after each part of a few megabytes. */
  onProgress?: ((progress: ImportProgress<R>) => void) | undefined;
}

/** How rows of any form become documents: which of their values become which fields, and what becomes of the others. */
export type RowMapping = Query<"importDocuments">;

/** What an import of documents takes. */
export interface DocumentImportOptions extends ImportOptions<Answer<"importDocuments">> {
  /** For rows that do not have the form of a document. With `replace`, all rows must fit into one request of 64 MiB. */
  rows?: RowMapping | undefined;
}

type ImportOperation = "importDocuments" | "importMemories";

/** A part of an import failed. `cause` is the error of the call, and `result` that of the parts before it. */
export class ImportError<R = Answer<ImportOperation>> extends KeepsakeError {
  override name = "ImportError";
  readonly result: R;
  /** The first line of the part, which was not stored as far as the client knows. */
  readonly line: number;

  constructor(message: string, result: R, line: number, cause: unknown) {
    super(message, { cause });
    this.result = result;
    this.line = line;
  }
}

// The limits of the parts in which an import is sent. Each part is one request that can be repeated from memory.
const partBytes = 4 << 20;
const partLines = 5_000;
const keptErrors = 100;

/** What differs between imports. @internal */
export interface Upload<O extends ImportOperation> {
  empty: Answer<O>;
  longestLine: number;
  query?: Query<O>;
  /** Lines without IDs can be sent twice, because the server derives IDs from them. */
  derivesIds: boolean;
  /** All lines are sent in one request. */
  whole?: boolean;
}

/** upload sends lines in parts and adds up the results. */
export async function upload<O extends ImportOperation>(
  http: Http,
  operation: O,
  source: ImportSource<object>,
  { empty: result, longestLine, query, derivesIds, whole }: Upload<O>,
  options: ImportOptions<Answer<O>> = {},
): Promise<Answer<O>> {
  const { onProgress, ...call } = options;
  const progress = { bytes: 0, lines: 0, result };
  for await (const part of partsOf(source, longestLine, whole === true)) {
    const key = call.idempotencyKey;
    const partOptions: CreateOptions = { timeoutMs: uploadTimeoutMs, ...call };
    if (key !== undefined && part.firstLine > 1) partOptions.idempotencyKey = `${key}-${part.firstLine}`;
    try {
      const outcome = await http.call(operation, { query, bytes: part.data, keyless: !part.named && !derivesIds }, partOptions);
      add(result as Answer<ImportOperation>, outcome as Answer<ImportOperation>, part.firstLine);
    } catch (error) {
      if (part.firstLine === 1) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new ImportError(`the lines before line ${part.firstLine} were sent, and the rest was not: ${message}`, result, part.firstLine, error);
    }
    progress.bytes += part.data.length;
    progress.lines += part.lines;
    onProgress?.({ ...progress });
  }
  return result;
}

/** bytesOf reads a source as a whole. @internal */
export async function bytesOf(source: ImportSource<never>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunksOf(source)) {
    chunks.push(chunk);
    if ((length += chunk.length) > requestBytes) throw tooLong();
  }
  return concat(chunks, length);
}

/** How long an import's request can take by default, in milliseconds. @internal */
export const uploadTimeoutMs = 300_000;

const requestBytes = 64 << 20;
const tooLong = () => new KeepsakeError("the import is longer than the 64 MiB that one request can have, and cannot be sent in parts");

function add(total: Answer<ImportOperation>, part: Answer<ImportOperation>, firstLine: number): void {
  total.received += part.received;
  total.created += part.created;
  total.replaced += part.replaced;
  total.failed += part.failed;
  if ("unchanged" in total && "unchanged" in part) total.unchanged += part.unchanged;
  if ("deleted" in total && "deleted" in part) total.deleted += part.deleted;
  for (const issue of part.issues) {
    const known = total.issues.find((other) => other.field === issue.field && other.issue === issue.issue);
    if (known === undefined) total.issues.push({ ...issue });
    else known.count += issue.count;
  }
  total.issues.sort((a, b) => b.count - a.count);
  const errors = part.errors.map((error) => ({ ...error, line: error.line + firstLine - 1 }));
  total.errors.push(...errors.slice(0, keptErrors - total.errors.length));
}

// Part is a number of whole lines. named: every line has an ID, so that sending it twice stores nothing twice.
interface Part {
  data: Uint8Array;
  firstLine: number;
  lines: number;
  named: boolean;
}

async function* partsOf(source: ImportSource<object>, longestLine: number, whole: boolean): AsyncGenerator<Part, void, undefined> {
  let lines: Uint8Array[] = [];
  let bytes = 0;
  let named = true;
  let firstLine = 1;
  let begun = false; // a line was not blank
  const take = (): Part => {
    const part = { data: concat(lines, bytes), firstLine, lines: lines.length, named };
    firstLine += lines.length;
    [lines, bytes, named] = [[], 0, true];
    return part;
  };
  for await (const line of linesOf(source, longestLine)) {
    if (!begun && /^\s*\[/.test(decoder.decode(line.subarray(0, 64))))
      throw new KeepsakeError("the import is a JSON array, and must be one JSON object per line; pass JSON.parse(text), or each object");
    if (whole && bytes + line.length > requestBytes) throw tooLong();
    if (!whole && (lines.length === partLines || (bytes + line.length > partBytes && lines.length > 0))) yield take();
    begun ||= decoder.decode(line.subarray(0, 64)).trim() !== "";
    lines.push(line);
    bytes += line.length;
    named &&= hasId(line);
  }
  if (lines.length > 0) yield take();
}

const decoder = new TextDecoder();

function hasId(line: Uint8Array): boolean {
  const text = decoder.decode(line).trim();
  if (text === "") return true;
  try {
    const id = (JSON.parse(text) as { id?: unknown }).id;
    return id !== undefined && id !== null && id !== "";
  } catch {
    return false;
  }
}

// linesOf returns lines with their line breaks, which the last line can lack.
async function* linesOf(source: ImportSource<object>, longest: number): AsyncGenerator<Uint8Array, void, undefined> {
  let rest: Uint8Array[] = [];
  let length = 0;
  let line = 1;
  for await (const chunk of chunksOf(source)) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      rest.push(chunk.subarray(from, end + 1));
      length += end + 1 - from;
      check(length, longest, line++);
      yield concat(rest, length);
      [rest, length, from] = [[], 0, end + 1];
    }
    rest.push(chunk.slice(from));
    length += chunk.length - from;
    check(length, longest, line);
  }
  if (length > 0) yield concat(rest, length);
}

function check(length: number, longest: number, line: number): void {
  if (length > longest) throw new KeepsakeError(`line ${line} is longer than any may be; an import has one JSON object per line`);
}

async function* chunksOf(source: ImportSource<object>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  let half = ""; // the first half of a character that two chunks share
  for await (const piece of piecesOf(source)) {
    if (piece instanceof Uint8Array) yield piece;
    else if (typeof piece === "string") {
      const text = half + piece;
      half = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : "";
      yield encoder.encode(half === "" ? text : text.slice(0, -1));
    } else yield encoder.encode(JSON.stringify(piece) + "\n");
  }
  if (half !== "") yield encoder.encode(half);
}

async function* piecesOf(source: ImportSource<object>): AsyncGenerator<Uint8Array | string | object, void, undefined> {
  if (typeof source === "string" || source instanceof Uint8Array) yield source;
  else if (typeof Blob !== "undefined" && source instanceof Blob) yield* streamed(source.stream());
  else if (Symbol.asyncIterator in source || Symbol.iterator in source) yield* source;
  else yield* streamed(source as unknown as ReadableStream<Uint8Array | string>);
}

// streamed reads a stream, which not every browser can iterate.
async function* streamed(stream: ReadableStream<Uint8Array | string>): AsyncGenerator<Uint8Array | string, void, undefined> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function concat(pieces: Uint8Array[], length: number): Uint8Array {
  if (pieces.length === 1 && pieces[0] !== undefined) return pieces[0];
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

