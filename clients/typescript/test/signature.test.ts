// The receiver's side of webhooks.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { VerificationError, verifyReceipt, verifyWebhook } from "@keepsake/client";

const secret = `whsec_${Buffer.from("a secret of 24 bytes....").toString("base64")}`;
const body = JSON.stringify({ id: "evt_1", type: "memory.created", timestamp: "2026-11-23T12:00:00Z", workspaceId: "wsp_1", data: { count: 1 } });
const at = 1795435200;
const now = () => at * 1000;

function sign(of: string, key = secret, time = at): Record<string, string> {
  const mac = createHmac("sha256", Buffer.from(key.slice(6), "base64")).update(`evt_1.${time}.${of}`).digest("base64");
  return { "webhook-id": "evt_1", "webhook-timestamp": String(time), "webhook-signature": `v1,${mac}` };
}

test("a delivery with a valid signature is its event", async () => {
  const headers = sign(body);
  for (const form of [headers, new Headers(headers), { "Webhook-Id": "evt_1", "Webhook-Timestamp": String(at), "Webhook-Signature": headers["webhook-signature"] }])
    assert.equal((await verifyWebhook(body, form, secret, { now })).type, "memory.created");
  assert.equal((await verifyWebhook(new TextEncoder().encode(body), headers, secret, { now })).id, "evt_1");
});

test("one of several signatures, or of several secrets, is enough", async () => {
  const other = `whsec_${Buffer.from("another secret, 24 bytes").toString("base64")}`;
  const headers = sign(body);
  headers["webhook-signature"] = `v1,AAAA v1a,xyz ${sign(body, other)["webhook-signature"]} ${headers["webhook-signature"]}`;
  assert.equal((await verifyWebhook(body, headers, secret, { now })).id, "evt_1");
  assert.equal((await verifyWebhook(body, sign(body), [other, secret], { now })).id, "evt_1");
});

test("a delivery that was changed, repeated or forged is refused", async () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    [body + " ", sign(body), /no signature .* is valid/],
    [body, { ...sign(body), "webhook-id": "evt_2" }, /no signature/],
    [body, sign(body, secret, at - 301), /too far/],
    [body, sign(body, secret, at + 301), /too far/],
    [body, { ...sign(body), "webhook-timestamp": "soon" }, /not a time/],
    [body, { ...sign(body), "webhook-signature": "v1,%%%" }, /no signature/],
    [body, { ...sign(body), "webhook-signature": "" }, /webhook-signature is missing/],
    [body, {}, /webhook-id is missing/],
  ];
  for (const [text, headers, message] of cases)
    await assert.rejects(verifyWebhook(text, headers, secret, { now }), (error: Error) => error instanceof VerificationError && message.test(error.message));
  await assert.rejects(verifyWebhook(body, sign(body), "", { now }), /not one of a webhook/);
});

test("a receipt that is none is refused", async () => {
  const receipt = { receiptId: "r", memories: 1, erasedAt: "", liveKeyDestroyed: true, keyBackupsBefore: "", signature: "a.b.c" };
  await assert.rejects(verifyReceipt(receipt, []), /not that of a receipt/);
});
