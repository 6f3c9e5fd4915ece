// Receives events: a handler for any server that knows Request and Response, such as Deno, Bun, Hono or a Next.js route.
import { VerificationError, verifyWebhook } from "@keepsake/client";

const seen = new Set<string>();

export async function receive(request: Request, secret: string): Promise<Response> {
  try {
    const event = await verifyWebhook(await request.text(), request.headers, secret);
    if (!seen.has(event.id)) console.log(event.type, event.data); // an event can arrive more than once
    seen.add(event.id);
    return new Response(null, { status: 204 });
  } catch (error) {
    if (error instanceof VerificationError) return new Response(error.message, { status: 400 });
    throw error;
  }
}

const forged = new Request("http://localhost/hook", { method: "POST", body: "{}" });
console.log((await receive(forged, "whsec_c2VjcmV0")).status);
