import { Injectable, Inject, type OnApplicationBootstrap } from '@nestjs/common';
import type { KeyObject } from 'node:crypto';
import { AccessSources } from '../access-sources.service.js';
import { ACCESS_CONFIG, type AccessConfig } from '../access.config.js';
import type { VerificationKeys } from '../access.tokens.js';
import { JwksKeys } from './jwks-keys.js';

/** A replica of identity may learn of a withdrawal a moment after this one: the keys are read again after this time. */
const SECOND_RELOAD_MS = 1_000;

/**
 * Public keys of access tokens: those that the application provides (identity), else those of the JWKS, else none. A key
 * that was withdrawn is refused from the broadcast on, whatever a JWKS still lists.
 */
@Injectable()
export class VerificationKeysService implements OnApplicationBootstrap {
  private readonly jwks?: JwksKeys;
  private readonly withdrawn = new Set<string>();
  private readonly withdrawalListeners: ((kids: string[]) => void)[] = [];

  constructor(
    private readonly sources: AccessSources,
    @Inject(ACCESS_CONFIG) { jwksUrl }: AccessConfig,
  ) {
    this.jwks = jwksUrl === undefined ? undefined : new JwksKeys(jwksUrl);
  }

  onApplicationBootstrap(): void {
    this.keys?.onWithdrawn?.((kids) => this.notify(kids));
  }

  /** Returns true when tokens can be verified in this service. */
  get areAvailable(): boolean {
    return this.keys !== undefined;
  }

  async find(kid: string): Promise<KeyObject | null> {
    if (this.withdrawn.has(kid)) return null;
    return (await this.keys?.find(kid)) ?? null;
  }

  /** Refuses tokens of these keys from now on, and reads the keys again: another one may sign already. */
  withdraw(kids: readonly string[]): void {
    for (const kid of kids) this.withdrawn.add(kid);
    this.notify([...kids]);
    this.reload();
    setTimeout(() => this.reload(), SECOND_RELOAD_MS).unref();
  }

  /** Reads the keys again, because a withdrawal may have been missed. */
  reload(): void {
    void this.keys?.reload?.().catch(() => undefined); // they are read again by themselves
  }

  /** Adds a listener for the ids of keys that are no longer in use. */
  onWithdrawn(listener: (kids: string[]) => void): void {
    this.withdrawalListeners.push(listener);
  }

  private notify(kids: string[]): void {
    for (const listener of this.withdrawalListeners) listener(kids);
  }

  private get keys(): VerificationKeys | undefined {
    return this.sources.verificationKeys ?? this.jwks;
  }
}
