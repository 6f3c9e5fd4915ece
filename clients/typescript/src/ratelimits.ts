/** What a response says about the limits of the caller. */
export interface RateLimits {
  /** Requests per minute of the tier. */
  limit: number;
  /** Requests that are left in this minute, by the lowest limit that applies. */
  remaining: number;
  /** When this minute ends. */
  resetAt: Date;
  /** Requests that are left in the daily quota. */
  dailyRemaining: number;
  /** Requests that are left in the monthly quota. */
  monthlyRemaining: number;
  /** The minute limit of the API key; undefined if the response was not to a valid API key. */
  key: { limit: number; remaining: number } | undefined;
}

/** rateLimitsOf returns the limits in the headers of a response, or undefined if they are not there, as in a proxy's response. */
export function rateLimitsOf(headers: Headers): RateLimits | undefined {
  const number = (name: string) => {
    const text = headers.get(name);
    return text !== null && /^-?\d+$/.test(text) ? Number(text) : NaN;
  };
  const limits = {
    limit: number("X-RateLimit-Limit"),
    remaining: number("X-RateLimit-Remaining"),
    dailyRemaining: number("X-RateLimit-Daily-Remaining"),
    monthlyRemaining: number("X-RateLimit-Monthly-Remaining"),
  };
  const reset = number("X-RateLimit-Reset");
  if ([...Object.values(limits), reset].some(Number.isNaN)) return undefined;
  const key = { limit: number("X-RateLimit-Key-Limit"), remaining: number("X-RateLimit-Key-Remaining") };
  return { ...limits, resetAt: new Date(reset * 1000), key: Object.values(key).some(Number.isNaN) ? undefined : key };
}
