import { Injectable } from '@nestjs/common';
import { KeyRing } from '@rmm/secrets';
import { OneTimeStore } from './one-time-store.service.js';

const TTL_SECONDS = 600;

export interface TotpSetup {
  secret: string;
  recoveryCodes: string[];
}

/** Authenticator apps that are not confirmed yet: sealed in Redis for ten minutes, bound to the session. */
@Injectable()
export class TotpSetups {
  constructor(
    private readonly store: OneTimeStore,
    private readonly keyRing: KeyRing,
  ) {}

  /** Stores a setup. A second one in the same session replaces the first. */
  async create(userId: string, sessionId: string, setup: TotpSetup): Promise<void> {
    const sealed = this.keyRing.seal(JSON.stringify(setup), contextOf(userId, sessionId));
    await this.store.set(keyOf(userId, sessionId), sealed, TTL_SECONDS);
  }

  async find(userId: string, sessionId: string): Promise<TotpSetup | null> {
    const sealed = await this.store.get(keyOf(userId, sessionId));
    return sealed === null ? null : (JSON.parse(this.keyRing.open(sealed, contextOf(userId, sessionId))) as TotpSetup);
  }

  /** Ends a setup. @returns true for exactly one of concurrent callers */
  consume(userId: string, sessionId: string): Promise<boolean> {
    return this.store.consume(keyOf(userId, sessionId));
  }
}

const keyOf = (userId: string, sessionId: string) => `rmm:identity:totp-setup:{${userId}}:${sessionId}`;
const contextOf = (userId: string, sessionId: string) => `totp_setup:${userId}:${sessionId}`;
