import { Injectable } from '@nestjs/common';
import { KeyRing } from '@rmm/secrets';
import { RedisOnce } from './redis-once.js';

const TTL_SECONDS = 600;

export interface TotpSetup {
  secret: string;
  recoveryCodes: string[];
}

/** Factors shown but not yet confirmed: sealed in Redis for ten minutes, bound to the session that asked. */
@Injectable()
export class TotpSetups {
  constructor(
    private readonly redis: RedisOnce,
    private readonly keyRing: KeyRing,
  ) {}

  /** A second start in the same session replaces the first. */
  async start(userId: string, sessionId: string, setup: TotpSetup): Promise<void> {
    const sealed = this.keyRing.seal(JSON.stringify(setup), contextOf(userId, sessionId));
    await this.redis.keep(keyOf(userId, sessionId), sealed, TTL_SECONDS);
  }

  async find(userId: string, sessionId: string): Promise<TotpSetup | null> {
    const sealed = await this.redis.peek(keyOf(userId, sessionId));
    return sealed === null ? null : (JSON.parse(this.keyRing.open(sealed, contextOf(userId, sessionId))) as TotpSetup);
  }

  /** True for the one caller that confirms it. */
  end(userId: string, sessionId: string): Promise<boolean> {
    return this.redis.consume(keyOf(userId, sessionId));
  }
}

const keyOf = (userId: string, sessionId: string) => `rmm:identity:totp-setup:{${userId}}:${sessionId}`;
const contextOf = (userId: string, sessionId: string) => `totp_setup:${userId}:${sessionId}`;
