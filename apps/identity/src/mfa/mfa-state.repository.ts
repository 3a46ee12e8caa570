import { Injectable } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import { hashKey, KeyRing, mintOpaqueToken } from '@rmm/secrets';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import type { MembershipKey } from '../members/membership.types.js';
import type { SsoSource } from '../sessions/sessions.service.js';

const PENDING_LOGIN_TTL_SECONDS = 300;
const SETUP_TTL_SECONDS = 600;
export const STEP_UP_TTL_SECONDS = 300;
/** A code is valid for three steps of 30 seconds; a used step is remembered for longer than that. */
const USED_STEP_TTL_SECONDS = 180;

const TOKEN_LENGTH = 32;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * A login whose password was correct and whose factor is missing; bound to the user's method and epochs, and to the
 * membership that it enters.
 */
export interface PendingLogin extends MembershipKey {
  userId: string;
  method: string | null;
  authEpoch: number;
  mfaEpoch: number;
  /** Hash of the link that the user accepts with this login, as hex; null without one. */
  invitation: string | null;
  /** The identity provider that took the place of the password. */
  sso?: SsoSource;
}

/** An authenticator app that is not confirmed yet. */
export interface TotpSetup {
  secret: string;
  recoveryCodes: string[];
}

/** The session that a setup is bound to. */
export interface SetupOwner {
  userId: string;
  sessionId: string;
}

/**
 * Short-lived MFA state in Redis: pending logins and step-up grants under the hash of their token, setups sealed, used
 * TOTP steps. Each `consume` returns true for exactly one of concurrent callers. Every method throws UnavailableError
 * when Redis is down.
 */
@Injectable()
export class MfaStateRepository {
  constructor(
    private readonly redis: RedisConnections,
    private readonly keyRing: KeyRing,
  ) {}

  /** @returns the temporary token: 32 random characters, valid for 300 seconds */
  async createPendingLogin(login: PendingLogin): Promise<string> {
    const token = Array.from({ length: TOKEN_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    await this.set(loginKeyOf(token), JSON.stringify(login), PENDING_LOGIN_TTL_SECONDS);
    return token;
  }

  async findPendingLogin(token: string): Promise<PendingLogin | null> {
    const stored = await this.get(loginKeyOf(token));
    return stored === null ? null : (JSON.parse(stored) as PendingLogin);
  }

  /** Uses a temporary token up. @returns the seconds that it would have been valid for; null for all but one caller */
  async consumePendingLogin(token: string): Promise<number | null> {
    const key = loginKeyOf(token);
    const replies = await this.run(() => this.redis.shared.multi().ttl(key).del(key).exec());
    const [[, secondsLeft], [, deleted]] = replies as [[unknown, number], [unknown, number]];
    return deleted === 1 ? Math.max(secondsLeft, 1) : null;
  }

  /** Makes a temporary token valid again whose login was not completed. */
  async restorePendingLogin(token: string, login: PendingLogin, secondsLeft: number): Promise<void> {
    await this.set(loginKeyOf(token), JSON.stringify(login), secondsLeft);
  }

  /** Stores a setup for ten minutes. A second one in the same session replaces the first. */
  async createSetup(owner: SetupOwner, setup: TotpSetup): Promise<void> {
    const sealed = this.keyRing.seal(JSON.stringify(setup), setupContextOf(owner));
    await this.set(setupKeyOf(owner), sealed, SETUP_TTL_SECONDS);
  }

  async findSetup(owner: SetupOwner): Promise<TotpSetup | null> {
    const sealed = await this.get(setupKeyOf(owner));
    return sealed === null ? null : (JSON.parse(this.keyRing.open(sealed, setupContextOf(owner))) as TotpSetup);
  }

  consumeSetup(owner: SetupOwner): Promise<boolean> {
    return this.consume(setupKeyOf(owner));
  }

  /** Stores a step-up grant for 300 seconds. @returns its id: 43 characters */
  async createGrant(binding: string): Promise<string> {
    const { key } = mintOpaqueToken();
    await this.set(grantKeyOf(key), binding, STEP_UP_TTL_SECONDS);
    return key;
  }

  /** Returns what a grant is bound to, without using it. */
  findGrant(id: string): Promise<string | null> {
    return this.get(grantKeyOf(id));
  }

  consumeGrant(id: string): Promise<boolean> {
    return this.consume(grantKeyOf(id));
  }

  /** Marks a TOTP step as used. @returns true for exactly one caller in the fleet */
  claimTotpStep(userId: string, step: number): Promise<boolean> {
    const key = `rmm:identity:totp-step:{${userId}}:${step}`;
    return this.run(async () => (await this.redis.shared.set(key, '1', 'EX', USED_STEP_TTL_SECONDS, 'NX')) === 'OK');
  }

  private async set(key: string, value: string, ttlSeconds: number): Promise<void> {
    await this.run(() => this.redis.shared.set(key, value, 'EX', ttlSeconds));
  }

  private get(key: string): Promise<string | null> {
    return this.run(() => this.redis.shared.get(key));
  }

  private consume(key: string): Promise<boolean> {
    return this.run(async () => (await this.redis.shared.del(key)) === 1);
  }

  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}

const loginKeyOf = (token: string) => `rmm:identity:mfa-login:{${hashKey(token).toString('hex')}}`;
const grantKeyOf = (id: string) => `rmm:identity:step-up:{${hashKey(id).toString('hex')}}`;
const setupKeyOf = ({ userId, sessionId }: SetupOwner) => `rmm:identity:totp-setup:{${userId}}:${sessionId}`;
const setupContextOf = ({ userId, sessionId }: SetupOwner) => `totp_setup:${userId}:${sessionId}`;
