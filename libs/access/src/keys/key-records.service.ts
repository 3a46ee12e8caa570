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
 * Caches the records of keys by the hash of the key. Depends on all feeds: a record also contains the state of the key's
 * partner and the rights of its creator, which identity changes, and the state of its organization.
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
    this.cache = new ReadThroughCache({ maxEntries: MAX_RECORDS, ttlMs: KEY_RECORD_TTL_MS, clock }, tagsOf);
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
    if (cached && !cached.hasExpired(this.clock.monotonicMs())) return this.assertOrganizationKnown(cached);
    // Credentials records the expiry of a key when it is asked for it, so it is asked once more.
    if (cached) this.cache.invalidate([hashTag(id)]);
    const known = await this.cache.get(id, () => this.read(id, keyHash));
    if (known === null) this.unknown.add(id);
    return this.assertOrganizationKnown(known);
  }

  /**
   * Returns a record that needs no look-up.
   * @throws UnavailableError  503 when a feed is silent
   */
  peek(keyHash: Buffer): KnownKey | undefined {
    this.feeds.credentials.assertAlive();
    this.feeds.access.assertAlive();
    const cached = this.cache.peek(keyHash.toString('base64'));
    if (!cached || cached.hasExpired(this.clock.monotonicMs())) return undefined;
    this.assertOrganizationKnown(cached);
    return cached;
  }

  /** Drops the keys that a `credential.changed` names. */
  onCredentialsChanged(change: CredentialChanged): void {
    this.unknown.onCredentialsChanged(change);
    const { keyIds, keyHashes, partnerIds = [], orgIds = [] } = change;
    this.cache.invalidate([
      ...keyIds.map(keyTag),
      ...keyHashes.map((hex) => hashTag(Buffer.from(hex, 'hex').toString('base64'))),
      ...partnerIds.map(partnerTag),
      ...orgIds.map(organizationTag),
    ]);
  }

  /** Drops the keys whose creator, partner or organization an `access.changed` may concern. */
  onAccessChanged({ userIds = [], roleIds = [], partnerIds = [], orgIds = [], partnerId, orgId }: AccessChanged): void {
    if (partnerIds.length > 0) this.unknown.clear();
    this.cache.invalidate([...partnerIds.map(partnerTag), ...orgIds.map(organizationTag)]);
    this.cache.invalidate(userIds.map(creatorTag));
    if (roleIds.length === 0) return;
    // The record does not name the role of its creator: every key that a user of the role's tenant may have created.
    if (orgId !== undefined) this.cache.invalidate([organizationTag(orgId)], hasCreator);
    else if (partnerId !== undefined) this.cache.invalidate([partnerTag(partnerId)], hasCreator);
    else this.cache.invalidateWhere(hasCreator);
  }

  get size(): number {
    return this.cache.size;
  }

  flush(): void {
    this.unknown.clear();
    this.cache.flush();
  }

  /** @throws UnavailableError  503 while changes of the status of organizations do not arrive */
  private assertOrganizationKnown(known: KnownKey | null): KnownKey | null {
    if (known?.kind === 'api_key') this.feeds.organizations.assertAlive();
    return known;
  }

  private async read(id: string, keyHash: Buffer): Promise<KnownKey | null> {
    const readAtMs = this.clock.monotonicMs();
    const record = await this.sources.keys.resolve(keyHash);
    return record && toKnownKey(id, record, readAtMs);
  }
}

const keyTag = (id: string): string => `key:${id}`;
const hashTag = (hash: string): string => `hash:${hash}`;
const creatorTag = (id: string): string => `creator:${id}`;
const partnerTag = (id: string): string => `partner:${id}`;
const organizationTag = (id: string): string => `org:${id}`;

function tagsOf(known: KnownKey | null, hash: string): string[] {
  if (known === null) return [hashTag(hash)];
  const { record } = known;
  const tags = [keyTag(record.keyId), hashTag(hash), partnerTag(record.partnerId)];
  if (record.kind === 'api_key') {
    tags.push(organizationTag(record.orgId));
    if (record.createdBy !== null && record.principalId === null) tags.push(creatorTag(record.createdBy));
  }
  return tags;
}

/** Keys of principals do not depend on the rights of the user who created them. */
const hasCreator = ({ record }: KnownKey): boolean =>
  record.kind === 'api_key' && record.createdBy !== null && record.principalId === null;
