import { Injectable } from '@nestjs/common';
import { hashKey } from '@rmm/secrets';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';

export const CHALLENGE_TTL_SECONDS = 300;

/** The use of a challenge. A challenge of one purpose, user, session or login is none of another. */
export type Ceremony =
  | { purpose: 'registration' | 'step-up'; userId: string; sessionId: string }
  | { purpose: 'second-factor'; tempToken: string }
  /** The user is not known yet: the challenge itself, which the authenticator signs, shows that it was issued for this. */
  | { purpose: 'sign-in'; challenge: string };

export interface StoredChallenge {
  /** Base64url. */
  challenge: string;
  /** The name of a passkey that is being registered. */
  name?: string;
}

/**
 * Challenges of WebAuthn in Redis, for five minutes. A second one for the same ceremony replaces the first. Every method
 * throws UnavailableError when Redis is down.
 */
@Injectable()
export class PasskeyChallengesRepository {
  constructor(private readonly redis: RedisConnections) {}

  async save(ceremony: Ceremony, stored: StoredChallenge): Promise<void> {
    const value = JSON.stringify(stored);
    await this.run(() => this.redis.shared.set(keyOf(ceremony), value, 'EX', CHALLENGE_TTL_SECONDS));
  }

  /** Reads and deletes the challenge, whatever comes of it. @returns it to exactly one of concurrent callers */
  async consume(ceremony: Ceremony): Promise<StoredChallenge | null> {
    const value = await this.run(() => this.redis.shared.getdel(keyOf(ceremony)));
    return value === null ? null : (JSON.parse(value) as StoredChallenge);
  }

  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }
}

/** Redis stores neither tokens nor the ids of sessions. */
const keyOf = (ceremony: Ceremony): string =>
  `rmm:identity:passkey-challenge:{${hashKey(bindingOf(ceremony)).toString('hex')}}`;

function bindingOf(ceremony: Ceremony): string {
  switch (ceremony.purpose) {
    case 'second-factor':
      return `${ceremony.purpose}|${ceremony.tempToken}`;
    case 'sign-in':
      return `${ceremony.purpose}|${ceremony.challenge}`;
    default:
      return `${ceremony.purpose}|${ceremony.userId}|${ceremony.sessionId}`;
  }
}
