import { Inject, Injectable } from '@nestjs/common';
import type { KeyObject } from 'node:crypto';
import { AccessSources } from '../access-sources.service.js';
import { ACCESS_CONFIG, type AccessConfig } from '../access.config.js';
import type { VerificationKeys } from '../access.tokens.js';
import { JwksKeys } from './jwks-keys.js';

/** Public keys of access tokens: those that the application provides (identity), else those of the JWKS, else none. */
@Injectable()
export class VerificationKeysService implements VerificationKeys {
  private readonly jwks?: JwksKeys;

  constructor(
    private readonly sources: AccessSources,
    @Inject(ACCESS_CONFIG) { jwksUrl }: AccessConfig,
  ) {
    this.jwks = jwksUrl === undefined ? undefined : new JwksKeys(jwksUrl);
  }

  /** Returns true when tokens can be verified in this service. */
  get areAvailable(): boolean {
    return this.keys !== undefined;
  }

  async find(kid: string): Promise<KeyObject | null> {
    return (await this.keys?.find(kid)) ?? null;
  }

  /** Adds a listener for the ids of keys that the JWKS no longer lists. */
  onWithdrawn(listener: (kids: string[]) => void): void {
    this.jwks?.onWithdrawn(listener);
  }

  private get keys(): VerificationKeys | undefined {
    return this.sources.verificationKeys ?? this.jwks;
  }
}
