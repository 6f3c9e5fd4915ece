import { ApiError } from "./errors.js";
import type { CallOptions, ChangeOptions, Http } from "./http.js";
import type * as t from "./types.js";

// The server accepts a used refresh token for ten seconds.
const refreshRepeatMs = 8_000;

/** Sign-in with email and password. */
export class Auth {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Signs in. `keepsake.withToken(tokens.accessToken)` is a client that is signed in. A wrong password counts each time. */
  login(email: string, password: string, options?: CallOptions): Promise<t.Tokens> {
    return this.#http.call("login", { body: { email, password } }, options);
  }

  /** Returns a new pair of tokens for a refresh token, which works once. */
  refresh(refreshToken: string, options?: CallOptions): Promise<t.Tokens> {
    return this.#http.call("refreshToken", { body: { refreshToken }, safe: true, withinMs: refreshRepeatMs }, options);
  }

  /** Ends the session of the client's token. */
  async logout(options?: CallOptions): Promise<void> {
    try {
      await this.#http.call("logout", { safe: true }, options);
    } catch (error) {
      // An earlier attempt, whose response was lost, has ended the session.
      if (error instanceof ApiError && error.attempts > 1 && error.status === 401) return;
      throw error;
    }
  }

  /** Changes the password of the signed-in user, and ends the user's other sessions. */
  async changePassword(currentPassword: string, newPassword: string, options?: CallOptions): Promise<void> {
    await this.#http.call("changePassword", { body: { currentPassword, newPassword } }, options);
  }

  /** Lists the keys that verify access tokens, newest first, and the key that verifies receipts. */
  async signingKeys(options?: CallOptions): Promise<t.SigningKey[]> {
    return (await this.#http.call("getSigningKeys", {}, options)).keys;
  }
}

/** The profile of the signed-in user. */
export class ProfileOfUser {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Reads the profile. */
  get(options?: CallOptions): Promise<t.Profile> {
    return this.#http.call("getProfile", {}, options);
  }

  /** Changes the fields that are there. */
  update(change: t.ProfileChange, options?: ChangeOptions): Promise<t.Profile> {
    return this.#http.call("changeProfile", { body: change }, options);
  }
}
