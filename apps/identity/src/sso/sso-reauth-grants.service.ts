import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { hashKey, mintOpaqueToken } from '@rmm/secrets';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';

const TTL_SECONDS = 300;
type Owner = Pick<UserCaller, 'userId' | 'sessionId'>;

/** Deletes a grant and returns 1 when it belongs to the session. */
const CONSUME = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call('DEL', KEYS[1])`;

/**
 * Grants of a reauthentication at the identity provider: a user without a password proves the account by one. Each is
 * valid for 300 seconds, once, and for the session that asked for it. @see docs/reference/sso.md
 */
@Injectable()
export class SsoReauthGrantsService {
  constructor(private readonly redis: RedisConnections) {}

  /** @returns the id of the grant */
  async create(owner: Owner): Promise<string> {
    const { key } = mintOpaqueToken();
    await this.run(() => this.redis.shared.set(keyOf(key), bindingOf(owner), 'EX', TTL_SECONDS));
    return key;
  }

  /** Returns true when the grant belongs to the session; does not use it. */
  async isValid(id: string, owner: Owner): Promise<boolean> {
    return (await this.run(() => this.redis.shared.get(keyOf(id)))) === bindingOf(owner);
  }

  /** Uses a grant up. @returns true for exactly one caller, whose session it belongs to */
  async consume(id: string | undefined, owner: Owner): Promise<boolean> {
    if (!id) return false;
    return (await this.run(() => this.redis.shared.eval(CONSUME, 1, keyOf(id), bindingOf(owner)))) === 1;
  }

  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}

const bindingOf = ({ userId, sessionId }: Owner): string => `${userId}:${sessionId}`;
const keyOf = (id: string): string => `rmm:identity:sso-reauth:{${hashKey(id).toString('hex')}}`;
