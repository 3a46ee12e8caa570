import type { Clock } from '@rmm/service-kit';
import type { KeyObject } from 'node:crypto';
import type { VerificationKeys } from '../access.tokens.js';
import { JwksKeys } from './jwks.service.js';

/** The service's own keys where it provides some (identity), else those of the JWKS, else none. */
export class TokenKeys implements VerificationKeys {
  private readonly jwks?: JwksKeys;

  constructor(
    private readonly sources: { verificationKeys(): VerificationKeys | undefined },
    jwksUrl: string | undefined,
    clock: Clock,
  ) {
    this.jwks = jwksUrl === undefined ? undefined : new JwksKeys(jwksUrl, clock);
  }

  /** Can any token be verified here? */
  get exist(): boolean {
    return this.keys !== undefined;
  }

  async find(kid: string): Promise<KeyObject | null> {
    return (await this.keys?.find(kid)) ?? null;
  }

  onWithdrawn(listener: (kids: string[]) => void): void {
    this.jwks?.onWithdrawn(listener);
  }

  private get keys(): VerificationKeys | undefined {
    return this.sources.verificationKeys() ?? this.jwks;
  }
}
