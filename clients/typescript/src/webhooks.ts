import type { CallOptions, ChangeOptions, CreateOptions, Http } from "./http.js";
import type { List } from "./list.js";
import type * as t from "./types.js";

/** The webhooks, to which events are delivered. `verifyWebhook` is for the receiver. */
export class Webhooks {
  readonly #http: Http;
  /** What was delivered, and when. */
  readonly deliveries: Deliveries;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
    this.deliveries = new Deliveries(http);
  }

  /** Creates a webhook. The secret is in the response once; it is null if the first response was lost and the call was repeated. */
  create(webhook: t.NewWebhook, options?: CreateOptions): Promise<t.CreatedWebhook> {
    return this.#http.call("createWebhook", { body: webhook }, options);
  }

  /** Reads one webhook. */
  get(id: string, options?: CallOptions): Promise<t.Webhook> {
    return this.#http.call("getWebhook", { path: { id } }, options);
  }

  /** Lists webhooks, newest first. */
  list(query?: t.PageQuery, options?: CallOptions): List<t.Webhook> {
    return this.#http.list("listWebhooks", { query }, options, (page) => page.items);
  }

  /** Changes the fields that are there. */
  update(id: string, change: t.WebhookChange, options?: ChangeOptions): Promise<t.Webhook> {
    return this.#http.call("changeWebhook", { path: { id }, body: change }, options);
  }

  /** Deletes a webhook and its deliveries. */
  async delete(id: string, options?: ChangeOptions): Promise<void> {
    await this.#http.call("deleteWebhook", { path: { id } }, options);
  }

  /** Gives a webhook a new secret. Deliveries are signed with both for the grace. */
  rotateSecret(id: string, rotation: t.WebhookRotation = {}, options?: ChangeOptions & CreateOptions): Promise<t.CreatedWebhook> {
    return this.#http.call("rotateWebhookSecret", { path: { id }, body: rotation }, options);
  }

  /** Sends a test event. The delivery shows the result a moment later. */
  ping(id: string, options?: CreateOptions): Promise<t.Delivery> {
    return this.#http.call("pingWebhook", { path: { id } }, options);
  }
}

/** The deliveries of a webhook. */
export class Deliveries {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists deliveries, newest first. */
  list(webhookId: string, query?: t.DeliveryQuery, options?: CallOptions): List<t.Delivery> {
    return this.#http.list("listWebhookDeliveries", { path: { id: webhookId }, query }, options, (page) => page.items);
  }

  /** Reads one delivery. */
  get(webhookId: string, id: string, options?: CallOptions): Promise<t.Delivery> {
    return this.#http.call("getWebhookDelivery", { path: { id: webhookId, deliveryId: id } }, options);
  }

  /** Sends a delivery again. */
  replay(webhookId: string, id: string, options?: CreateOptions): Promise<t.Delivery> {
    return this.#http.call("replayWebhookDelivery", { path: { id: webhookId, deliveryId: id } }, options);
  }
}
