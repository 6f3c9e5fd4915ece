/** What has arrived of an export. */
export interface ExportProgress {
  /** Bytes, decompressed. */
  bytes: number;
  /** Whole lines. */
  lines: number;
}

/**
 * An export: one JSON object per line. Each of its methods sends a request of its own. An iteration whose connection ends
 * before the last line is complete fails with a ConnectionError.
 *
 *     for await (const document of keepsake.documents.export()) { … }
 */
export class Lines<T> implements AsyncIterable<T> {
  readonly #read: () => AsyncGenerator<Uint8Array, void, undefined>;
  readonly #cut: (lines: number) => Error;
  readonly #onProgress: ((progress: ExportProgress) => void) | undefined;

  /** @internal */
  constructor(
    read: () => AsyncGenerator<Uint8Array, void, undefined>,
    cut: (lines: number) => Error,
    onProgress: ((progress: ExportProgress) => void) | undefined,
  ) {
    this.#read = read;
    this.#cut = cut;
    this.#onProgress = onProgress;
  }

  /** The objects. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const line of this.text()) yield JSON.parse(line) as T;
  }

  /** The lines, without their line breaks. */
  async *text(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    let rest = "";
    let lines = 0;
    for await (const chunk of this.bytes()) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const line of parts) {
        lines++;
        if (line.trim() !== "") yield line;
      }
    }
    if (rest.trim() !== "") throw this.#cut(lines);
  }

  /** The bytes, to be written to a file as they are. */
  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    const progress: ExportProgress = { bytes: 0, lines: 0 };
    for await (const chunk of this.#read()) {
      progress.bytes += chunk.length;
      for (const byte of chunk) if (byte === 10) progress.lines++;
      yield chunk;
      this.#onProgress?.({ ...progress });
    }
  }

  /** The bytes as a stream, for a Response or a file of a browser. */
  stream(): ReadableStream<Uint8Array> {
    const bytes = this.bytes();
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await bytes.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await bytes.return();
      },
    });
  }
}
