import { Injectable } from '@nestjs/common';
import type { AccessChanged, CredentialChanged } from '@rmm/contracts';
import { Clock } from '@rmm/service-kit';
import { AccessSources } from '../access-sources.service.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { toKnownKey, type KnownKey } from './known-key.js';
import { UnknownKeys } from './unknown-keys.js';

/** A record is read again after this time, even when no invalidation arrived. */
export const KEY_RECORD_TTL_MS = 60_000;
const MAX_RECORDS = 50_000;

/**
 * Caches the records of keys by the hash of the key. Depends on both feeds: a record also contains the state of the
 * key's partner and the rights of its creator, which identity changes.
 */
@Injectable()
export class KeyRecords {
  private readonly cache: ReadThroughCache<KnownKey>;
  private readonly unknown: UnknownKeys;

  constructor(
    private readonly sources: AccessSources,
    private readonly feeds: InvalidationFeeds,
    private readonly clock: Clock,
  ) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_RECORDS, ttlMs: KEY_RECORD_TTL_MS, clock });
    this.unknown = new UnknownKeys(clock);
  }

  /**
   * @returns null when no key has this hash
   * @throws UnavailableError  503 when a feed is silent or credentials does not respond
   */
  async find(keyHash: Buffer): Promise<KnownKey | null> {
    this.feeds.credentials.assertAlive();
    this.feeds.access.assertAlive();
    const id = keyHash.toString('base64');
    if (this.unknown.has(id)) return null;
    const cached = this.cache.peek(id);
    if (cached && !cached.hasExpired(this.clock.monotonicMs())) return cached;
    // Credentials records the expiry of a key when it is asked for it, so it is asked once more.
    if (cached) this.cache.invalidate((known) => known === cached);
    const known = await this.cache.get(id, () => this.read(id, keyHash));
    if (known === null) this.unknown.add(id);
    return known;
  }

  /**
   * Returns a record that needs no look-up.
   * @throws UnavailableError  503 when a feed is silent
   */
  peek(keyHash: Buffer): KnownKey | undefined {
    this.feeds.credentials.assertAlive();
    this.feeds.access.assertAlive();
    const cached = this.cache.peek(keyHash.toString('base64'));
    return cached?.hasExpired(this.clock.monotonicMs()) ? undefined : cached;
  }

  /** Drops the keys that a `credential.changed` names. */
  onCredentialsChanged(change: CredentialChanged): void {
    this.unknown.onCredentialsChanged(change);
    const { keyIds, keyHashes, partnerIds = [], orgIds = [] } = change;
    const ids = new Set(keyIds);
    const hashes = new Set(keyHashes.map((hex) => Buffer.from(hex, 'hex').toString('base64')));
    const [partners, orgs] = [new Set(partnerIds), new Set(orgIds)];
    this.cache.invalidate(({ keyHash, record }) => {
      if (ids.has(record.keyId) || hashes.has(keyHash) || partners.has(record.partnerId)) return true;
      return record.kind === 'api_key' && orgs.has(record.orgId);
    });
  }

  /** Drops the keys whose creator, partner or organization an `access.changed` may concern. */
  onAccessChanged({ userIds = [], roleIds = [], partnerIds = [], orgIds = [] }: AccessChanged): void {
    if (partnerIds.length > 0) this.unknown.clear();
    const [users, partners, orgs] = [new Set(userIds), new Set(partnerIds), new Set(orgIds)];
    this.cache.invalidate(({ record }) => {
      if (partners.has(record.partnerId)) return true;
      if (record.kind === 'partner_key') return false;
      const byRole = roleIds.length > 0 && record.createdBy !== null;
      return byRole || orgs.has(record.orgId) || (record.createdBy !== null && users.has(record.createdBy));
    });
  }

  flush(): void {
    this.unknown.clear();
    this.cache.flush();
  }

  private async read(id: string, keyHash: Buffer): Promise<KnownKey | null> {
    const readAtMs = this.clock.monotonicMs();
    const record = await this.sources.keys.resolve(keyHash);
    return record && toKnownKey(id, record, readAtMs);
  }
}
