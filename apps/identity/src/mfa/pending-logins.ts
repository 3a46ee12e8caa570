import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { hashKey } from '@rmm/secrets';
import type { User } from '../users/user.js';
import { RedisOnce } from './redis-once.js';

const TOKEN_LENGTH = 32;
const TTL_SECONDS = 300;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A login whose password was right and whose factor is still missing: bound to what the user was then. */
export interface PendingLogin {
  userId: string;
  method: string | null;
  authEpoch: number;
  mfaEpoch: number;
}

/** Logins between password and factor, kept in Redis under the hash of their temporary token. */
@Injectable()
export class PendingLogins {
  constructor(private readonly redis: RedisOnce) {}

  /** @returns the temporary token: 32 random characters, good for 300 seconds */
  async start({ id, mfaMethod, authEpoch, mfaEpoch }: User): Promise<string> {
    const token = Array.from({ length: TOKEN_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    const pending: PendingLogin = { userId: id, method: mfaMethod, authEpoch, mfaEpoch };
    await this.redis.keep(keyOf(token), JSON.stringify(pending), TTL_SECONDS);
    return token;
  }

  async find(token: string): Promise<PendingLogin | null> {
    const stored = await this.redis.peek(keyOf(token));
    return stored === null ? null : (JSON.parse(stored) as PendingLogin);
  }

  /** Ends it: true for the one caller that found it alive. */
  end(token: string): Promise<boolean> {
    return this.redis.consume(keyOf(token));
  }
}

const keyOf = (token: string) => `rmm:identity:mfa-login:{${hashKey(token).toString('hex')}}`;

/** Is the user still what it was when the password was proven? */
export const stillTheSame = (pending: PendingLogin, user: User): boolean =>
  user.status === 'active' &&
  user.mfaEnabled &&
  user.mfaMethod === pending.method &&
  user.authEpoch === pending.authEpoch &&
  user.mfaEpoch === pending.mfaEpoch;
