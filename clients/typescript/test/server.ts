// A server for tests that answers what a test says, and clients that never wait.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Keepsake, type ClientOptions, type Clock } from "@keepsake/client";

/** A request that arrived. */
export interface Arrived {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Starts a server for a test and returns its address and the requests that arrive. */
export async function serve(t: TestContext, answer: (request: Arrived, response: ServerResponse, number: number) => void) {
  const requests: Arrived[] = [];
  const listener: RequestListener = (request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const arrived = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body: Buffer.concat(pieces).toString() };
      requests.push(arrived);
      answer(arrived, response, requests.length);
    });
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Answers with JSON. */
export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Answers with an error of the server. */
export function refuse(response: ServerResponse, status: number, error: string, more: object = {}, headers: Record<string, string> = {}): void {
  json(response, status, { error, message: `It was refused: ${error}.`, requestId: "req_0123456789", ...more }, headers);
}

/** A clock that stands still, and records the waits. */
export class FakeClock implements Clock {
  time = Date.UTC(2026, 10, 23, 12);
  readonly waits: number[] = [];
  now = () => this.time;
  random = () => 1;
  sleep = async (ms: number, signal?: AbortSignal) => {
    signal?.throwIfAborted();
    this.waits.push(ms);
    this.time += ms;
  };
}

/** A client of a server that has an API key and never waits. */
export function connect(url: string, more: Partial<ClientOptions> = {}) {
  const clock = new FakeClock();
  return { keepsake: new Keepsake({ url, apiKey: "kpsk_test", clock, ...more }), clock };
}
