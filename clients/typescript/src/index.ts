export { Keepsake } from "./client.js";
export { KeepsakeAgent } from "./agent.js";
export { KeepsakeBackend, type BackendOptions } from "./backend.js";
export {
  ApiError,
  ConnectionError,
  KeepsakeError,
  RateLimitError,
  RedirectError,
  TimeoutError,
  UnexpectedAnswerError,
  VerificationError,
  type ErrorDetails,
} from "./errors.js";
export type { CallOptions, ChangeOptions, ClientOptions, CreateOptions, ExportOptions } from "./http.js";
export { ImportError, type DocumentImportOptions, type RowMapping, type ImportOptions, type ImportProgress, type ImportSource } from "./import.js";
export { Lines, type ExportProgress } from "./lines.js";
export { List, type Page } from "./list.js";
export type { RateLimits } from "./ratelimits.js";
export type { Clock, RetryOptions } from "./retry.js";
export { verifyReceipt, verifyWebhook, type HeadersLike, type ReceiptSigner, type WebhookEvent } from "./signature.js";
export type { Report } from "./analytics.js";
export type { Admin, AuditLog, Tiers, Users, Workspaces } from "./admin.js";
export type { Analytics } from "./analytics.js";
export type { ApiKeys } from "./apikeys.js";
export type { Auth, ProfileOfUser } from "./auth.js";
export type { Collections } from "./collections.js";
export type { Documents } from "./documents.js";
export type { Memories, Subjects } from "./memories.js";
export type { Versions } from "./versions.js";
export type { Deliveries, Webhooks } from "./webhooks.js";
export type * from "./types.js";
export { version } from "./version.js";
