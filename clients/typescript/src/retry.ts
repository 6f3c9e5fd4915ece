import { ApiError, ConnectionError, UnexpectedAnswerError } from "./errors.js";

/** How often and how long a call is repeated. */
export interface RetryOptions {
  /** How often a call is repeated. The default is 3; 0 means never. */
  retries?: number | undefined;
  /** The longest wait before a call is repeated. If the server asks for more, the call fails. The default is a minute. */
  maxWaitMs?: number | undefined;
  /** How long a call waits in total before its retries. The default is two minutes. */
  maxTotalWaitMs?: number | undefined;
}

/** The time and the waits, for tests that must not wait. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Waits. If signal is aborted first, it rejects with the reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** The random part of a wait, from 0 to 1. */
  random(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, ms);
      if (signal?.aborted) stop();
      else signal?.addEventListener("abort", stop, { once: true });
    }),
  random: Math.random,
};

/** What a retry of a request needs to know. */
export interface Repeatable {
  method: string;
  /** The Idempotency-Key of all attempts. */
  key: string | undefined;
  /** A POST without a key that can be repeated. */
  safe: boolean;
  /** A DELETE that is not repeated if its response is lost. */
  once: boolean;
  /** How long a retry has no second effect, in milliseconds; 0: forever. */
  withinMs: number;
}

const firstWaitMs = 200;
const longestWaitMs = 5_000;

/** Attempts are those of one call. */
export class Attempts {
  made = 0;
  #repeated = 0; // without waits for an earlier attempt that still runs
  #waitedMs = 0;
  readonly #startedAt: number;

  constructor(
    private readonly request: Repeatable,
    private readonly options: RetryOptions,
    private readonly clock: Clock,
  ) {
    this.#startedAt = clock.now();
  }

  /** next returns how long to wait before the call is repeated after an error, or undefined if it is not. */
  next(error: unknown): number | undefined {
    this.made++;
    const retries = this.options.retries ?? 3;
    const { again, running } = this.#repeatable(error);
    if (!again || retries === 0 || (this.#repeated >= retries && !running)) return undefined;
    const asked = error instanceof ApiError || error instanceof UnexpectedAnswerError ? error.retryAfterMs : 0;
    const wait = asked > 0 ? asked : this.#backoff();
    if (wait > (this.options.maxWaitMs ?? 60_000) || this.#waitedMs + wait > (this.options.maxTotalWaitMs ?? 120_000)) return undefined;
    const within = this.request.withinMs;
    if (within > 0 && this.clock.now() + wait - this.#startedAt > within && !hadNoEffect(error)) return undefined;
    this.#waitedMs += wait;
    if (!running) this.#repeated++;
    return wait;
  }

  // The wait is between half and all of a time that doubles with each retry.
  #backoff(): number {
    const longest = Math.min(longestWaitMs, firstWaitMs * 2 ** (this.made - 1));
    return longest / 2 + (this.clock.random() * longest) / 2;
  }

  // again: the call can succeed if it is repeated, without a second effect. running: an earlier attempt still runs.
  #repeatable(error: unknown): { again: boolean; running: boolean } {
    if (hadNoEffect(error)) return { again: true, running: false };
    if (error instanceof ApiError) {
      if (error.code === "idempotency_in_progress") return { again: this.request.key !== undefined, running: true };
      if (error.code === "unavailable" && this.request.once) return { again: true, running: false }; // no response was lost
      return { again: unavailable(error.status) && hasOneEffect(this.request), running: false };
    }
    if (error instanceof UnexpectedAnswerError) return { again: unavailable(error.status) && hasOneEffect(this.request), running: false };
    return { again: error instanceof ConnectionError && temporary(error) && hasOneEffect(this.request), running: false };
  }
}

// unavailable: the server, or a proxy in front of it, could not handle the request for now.
const unavailable = (status: number) => status === 502 || status === 503 || status === 504;

// hasOneEffect: a second attempt has no second effect. Changes are merge patches, and the other methods are idempotent.
function hasOneEffect(request: Repeatable): boolean {
  return request.method === "POST" ? request.key !== undefined || request.safe : !request.once;
}

// hadNoEffect: the request was certainly not performed. It exceeded a limit, or there was no connection to send it on.
function hadNoEffect(error: unknown): boolean {
  if (error instanceof ApiError || error instanceof UnexpectedAnswerError) return error.status === 429;
  return error instanceof ConnectionError && causeOf(error).syscall === "connect" && temporary(error);
}

// temporary: another attempt can get a response. Unknown hosts and wrong certificates stay.
function temporary(error: ConnectionError): boolean {
  const code = causeOf(error).code ?? "";
  return !(code === "ENOTFOUND" || /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code));
}

/** causeOf returns the error of the system, which Node hides in the causes of an error of fetch. */
export function causeOf(error: Error): { code?: string; syscall?: string; message?: string } {
  let cause: unknown = error.cause;
  while (cause instanceof Error) {
    const inner = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
    if (!(inner instanceof Error)) return cause;
    cause = inner;
  }
  return {};
}

/** retryAfterMs returns the wait that the header Retry-After asks for: seconds, or an HTTP date. It is 0 if there is none. */
export function retryAfterMs(value: string | null, now: number): number {
  if (value === null) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
