import { Injectable } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import { hashKey } from '@rmm/secrets';
import type { User } from '../users/user.js';
import { OneTimeStore } from './one-time-store.service.js';

const TOKEN_LENGTH = 32;
const TTL_SECONDS = 300;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A login whose password was correct and whose factor is missing; bound to the user's method and epochs. */
export interface PendingLogin {
  userId: string;
  method: string | null;
  authEpoch: number;
  mfaEpoch: number;
}

/** Logins between password and factor, stored in Redis under the hash of their temporary token. */
@Injectable()
export class PendingLogins {
  constructor(private readonly store: OneTimeStore) {}

  /** @returns the temporary token: 32 random characters, valid for 300 seconds */
  async create({ id, mfaMethod, authEpoch, mfaEpoch }: User): Promise<string> {
    const token = Array.from({ length: TOKEN_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    const pending: PendingLogin = { userId: id, method: mfaMethod, authEpoch, mfaEpoch };
    await this.store.set(keyOf(token), JSON.stringify(pending), TTL_SECONDS);
    return token;
  }

  async find(token: string): Promise<PendingLogin | null> {
    const stored = await this.store.get(keyOf(token));
    return stored === null ? null : (JSON.parse(stored) as PendingLogin);
  }

  /** Ends a pending login. @returns true for exactly one of concurrent callers */
  consume(token: string): Promise<boolean> {
    return this.store.consume(keyOf(token));
  }
}

const keyOf = (token: string) => `rmm:identity:mfa-login:{${hashKey(token).toString('hex')}}`;

/** Returns true when the user is still as it was when the password was proven. */
export const isUnchanged = (pending: PendingLogin, user: User): boolean =>
  user.status === 'active' &&
  user.mfaEnabled &&
  user.mfaMethod === pending.method &&
  user.authEpoch === pending.authEpoch &&
  user.mfaEpoch === pending.mfaEpoch;
