import { VerificationError } from "./errors.js";
import type { Receipt, SigningKey } from "./types.js";

/** The event of a webhook. */
export interface WebhookEvent {
  id: string;
  /** memory.created, api_key.revoked, … */
  type: string;
  timestamp: string;
  workspaceId: string;
  data: Record<string, unknown>;
}

/** The headers of a request: of fetch, or of Node's http. */
export type HeadersLike = Headers | Record<string, string | string[] | undefined>;

/**
 * Verifies a delivery of a webhook (Standard Webhooks) and returns its event. It fails with a VerificationError if the signature
 * is not valid, or if the delivery is older or newer than toleranceSeconds (300). Pass the body as it arrived: a body that was
 * parsed and written again differs. An event can arrive more than once, so remember its ID. secret can be several secrets.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: HeadersLike,
  secret: string | string[],
  options: { toleranceSeconds?: number; now?: () => number } = {},
): Promise<WebhookEvent> {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  if (!/^\d+$/.test(timestamp)) throw new VerificationError("webhook-timestamp is not a time");
  const apartSeconds = Math.abs((options.now ?? Date.now)() / 1000 - Number(timestamp));
  if (apartSeconds > (options.toleranceSeconds ?? 300))
    throw new VerificationError("webhook-timestamp is too far from the time of this machine: the delivery is a repeat, or a clock is wrong");
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = join(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  for (const one of Array.isArray(secret) ? secret : [secret]) {
    const raw = fromBase64(one.startsWith("whsec_") ? one.slice("whsec_".length) : one);
    if (raw === undefined || raw.length === 0) throw new VerificationError("the secret is not one of a webhook (whsec_…)");
    const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures.split(" ")) {
      const mac = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : undefined;
      if (mac !== undefined && (await crypto.subtle.verify("HMAC", key, mac, signed))) {
        try {
          return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
        } catch {
          throw new VerificationError("the body of the delivery is not JSON");
        }
      }
    }
  }
  throw new VerificationError("no signature of the delivery is valid: the secret is another one, or the body was changed");
}

function header(headers: HeadersLike, name: string): string {
  let value: string | string[] | null | undefined;
  if (typeof (headers as Headers).get === "function") value = (headers as Headers).get(name);
  else value = Object.entries(headers as Record<string, string | string[] | undefined>).find(([other]) => other.toLowerCase() === name)?.[1];
  if (typeof value !== "string" || value === "") throw new VerificationError(`the header ${name} is missing`);
  return value;
}

/** Who signed a receipt. */
export interface ReceiptSigner {
  /** kid in the JWK set. */
  keyId: string;
  /** The workspace of the subject. */
  workspaceId: string;
}

/**
 * Verifies, without a server, that one of keys (see `auth.signingKeys`) signed a receipt of `subjects.erase` and that it is
 * unchanged. Otherwise it fails with a VerificationError that says why.
 */
export async function verifyReceipt(receipt: Receipt, keys: SigningKey[]): Promise<ReceiptSigner> {
  const parts = receipt.signature.split(".");
  const [header, payload, signature] = parts.map(fromBase64Url);
  const head = header && jsonOf(header);
  if (parts.length !== 3 || !head || !payload || !signature || head["alg"] !== "EdDSA" || head["typ"] !== "keepsake-receipt+jws")
    throw new VerificationError("the signature is not that of a receipt");
  const jwk = keys.find((key) => key.kid === head["kid"] && key.kty === "OKP" && key.crv === "Ed25519");
  const raw = jwk && fromBase64Url(jwk.x);
  if (jwk === undefined || raw === undefined)
    throw new VerificationError(`the key ${JSON.stringify(head["kid"])} is not one of the given keys: another server signed the receipt, or it is forged`);
  const key = await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
  const signed = new TextEncoder().encode(`${parts[0]}.${parts[1]}`);
  if (!(await crypto.subtle.verify({ name: "Ed25519" }, key, signature, signed)))
    throw new VerificationError("the signature does not match the key: the receipt was changed");
  const content = jsonOf(payload);
  const fields = ["receiptId", "memories", "erasedAt", "liveKeyDestroyed", "keyBackupsBefore"] as const;
  if (!content || Object.keys(content).some((name) => name !== "workspaceId" && !fields.some((field) => field === name)))
    throw new VerificationError("the signed content is not a receipt that this release knows");
  for (const name of fields) {
    const same = name.endsWith("At") || name === "keyBackupsBefore" ? sameTime(receipt[name], content[name]) : receipt[name] === content[name];
    if (!same) throw new VerificationError(`${name} differs from the signed value`);
  }
  return { keyId: jwk.kid, workspaceId: String(content["workspaceId"]) };
}

const sameTime = (a: unknown, b: unknown) => typeof a === "string" && typeof b === "string" && (a === b || Date.parse(a) === Date.parse(b));

function jsonOf(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(text)) return undefined;
  return fromBase64(text.replace(/-/g, "+").replace(/_/g, "/"));
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
