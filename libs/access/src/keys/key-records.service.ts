import type { AccessChanged, CredentialChanged } from '@rmm/contracts';
import type { Clock } from '@rmm/service-kit';
import type { KeySource } from '../access.tokens.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import type { InvalidationFeed } from '../invalidation/invalidation-feed.js';
import { knownKey, type KnownKey } from './known-key.js';

/** A record is read again after this, whatever the feeds say. */
export const KEY_RECORD_TTL_MS = 60_000;
const MAX_RECORDS = 50_000;

/** The records of the keys in use, by hash of the key, kept as long as both feeds are heard. */
export class KeyRecords {
  private readonly cache: ReadThroughCache<KnownKey>;

  /**
   * @param feeds  of credentials, and of identity: a creator's rights and a partner's state are in the record too
   */
  constructor(
    private readonly source: () => KeySource,
    private readonly feeds: readonly InvalidationFeed[],
    private readonly clock: Clock,
  ) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_RECORDS, ttlMs: KEY_RECORD_TTL_MS, clock });
  }

  /**
   * @returns null when no key has this hash
   * @throws UnavailableError  503 when a feed is silent or credentials cannot be asked
   */
  async find(keyHash: Buffer): Promise<KnownKey | null> {
    for (const feed of this.feeds) feed.assertAlive();
    const id = keyHash.toString('base64');
    const cached = this.cache.peek(id);
    if (cached && !cached.hasLapsed(this.clock.nowMs())) return cached;
    // Credentials notes the end of a key when it is asked for it, so it is asked once more.
    if (cached) this.cache.invalidate((known) => known === cached);
    return this.cache.get(id, () => this.read(id, keyHash));
  }

  /** Drops what a `credential.changed` names. */
  credentialsChanged({ keyIds, keyHashes, partnerIds = [], orgIds = [] }: CredentialChanged): void {
    const ids = new Set(keyIds);
    const hashes = new Set(keyHashes.map((hex) => Buffer.from(hex, 'hex').toString('base64')));
    const [partners, orgs] = [new Set(partnerIds), new Set(orgIds)];
    this.cache.invalidate(({ keyHash, record }) => {
      if (ids.has(record.keyId) || hashes.has(keyHash) || partners.has(record.partnerId)) return true;
      return record.kind === 'api_key' && orgs.has(record.orgId);
    });
  }

  /** Drops the keys whose creator, partner or organization an `access.changed` may mean. */
  accessChanged({ userIds = [], roleIds = [], partnerIds = [], orgIds = [] }: AccessChanged): void {
    const [users, partners, orgs] = [new Set(userIds), new Set(partnerIds), new Set(orgIds)];
    this.cache.invalidate(({ record }) => {
      if (partners.has(record.partnerId)) return true;
      if (record.kind === 'partner_key') return false;
      const byRole = roleIds.length > 0 && record.createdBy !== null;
      return byRole || orgs.has(record.orgId) || (record.createdBy !== null && users.has(record.createdBy));
    });
  }

  flush(): void {
    this.cache.flush();
  }

  private async read(id: string, keyHash: Buffer): Promise<KnownKey | null> {
    const record = await this.source().resolve(keyHash);
    return record && knownKey(id, record);
  }
}
