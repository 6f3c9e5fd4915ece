import type { components } from "./openapi.js";

export type ErrorDetails = components["schemas"]["ErrorDetails"];

/** The error of every failed call, except that an aborted call fails with the reason of its AbortSignal. */
export class KeepsakeError extends Error {
  override name = "KeepsakeError";
}

/** What an {@link ApiError} is created from. */
export interface ApiErrorFields {
  message: string;
  status: number;
  code: string;
  details: ErrorDetails;
  requestId: string;
  retryAfterMs: number;
  retryAt: Date | undefined;
  replacementVersion: string | undefined;
  migrationGuideUrl: string | undefined;
}

/** An error response of the server. */
export class ApiError extends KeepsakeError {
  override name = "ApiError";
  /** The HTTP status. */
  readonly status: number;
  /** The code for programs: validation_error, not_found, … */
  readonly code: string;
  /** The invalid field or parameter, such as rateLimit.requestsPerMinute. */
  readonly field: string | undefined;
  /** The problem with the field: required, unknown, too_long, … */
  readonly issue: ErrorDetails["issue"] | undefined;
  readonly details: ErrorDetails;
  /** The ID that identifies the request in the server's log. */
  readonly requestId: string;
  /** How long the server asks to wait, in milliseconds, or 0. */
  readonly retryAfterMs: number;
  /** The time before which the same call fails again, if the server has said it. */
  readonly retryAt: Date | undefined;
  /** The version that replaces the one that was called, if that has ended. */
  readonly replacementVersion: string | undefined;
  readonly migrationGuideUrl: string | undefined;
  /**
   * How often the request was sent. If it is more than 1, an earlier attempt can have had the effect without its response
   * reaching the client: then a DELETE finds nothing, and a change of a revision finds the next one.
   */
  attempts = 1;

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.status = fields.status;
    this.code = fields.code;
    this.details = fields.details;
    this.field = fields.details.field;
    this.issue = fields.details.issue;
    this.requestId = fields.requestId;
    this.retryAfterMs = fields.retryAfterMs;
    this.retryAt = fields.retryAt;
    this.replacementVersion = fields.replacementVersion;
    this.migrationGuideUrl = fields.migrationGuideUrl;
  }
}

/** A limit or a quota is used up, and the wait is longer than the client waits. `retryAt` says when it ends. */
export class RateLimitError extends ApiError {
  override name = "RateLimitError";
  /** The limit or quota: tier_minute, key_minute, daily_quota, monthly_quota, … */
  get policy(): string | undefined {
    return this.details.policy;
  }
}

/** There was no connection, or it ended before the whole response had arrived. `cause` is the error of fetch. */
export class ConnectionError extends KeepsakeError {
  override name = "ConnectionError";
}

/** There was no whole response within `timeoutMs`. */
export class TimeoutError extends KeepsakeError {
  override name = "TimeoutError";
}

/** The response is not one of Keepsake: the address is wrong, or a proxy has answered. */
export class UnexpectedAnswerError extends KeepsakeError {
  override name = "UnexpectedAnswerError";
  readonly status: number;
  readonly contentType: string;
  /** How long the proxy asks to wait, in milliseconds, or 0. */
  readonly retryAfterMs: number;

  constructor(message: string, status: number, contentType: string, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.contentType = contentType;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server redirects. The client follows no redirect, because that would send the API key and the body elsewhere. */
export class RedirectError extends KeepsakeError {
  override name = "RedirectError";
}

/** A signature of a webhook or a receipt is not valid. */
export class VerificationError extends KeepsakeError {
  override name = "VerificationError";
}
