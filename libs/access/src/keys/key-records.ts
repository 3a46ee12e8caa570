import type { AccessChanged, CredentialChanged, ResolvedKey } from '@rmm/contracts';
import type { Clock } from '@rmm/service-kit';
import type { KeySource } from '../access.tokens.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import type { InvalidationFeed } from '../feed/invalidation-feed.js';

/** A record is read again after this, whatever the feeds say. */
export const KEY_RECORD_TTL_MS = 60_000;
const MAX_RECORDS = 50_000;

interface Entry {
  keyHash: string;
  record: ResolvedKey;
}

/** The records of the keys in use, by hash of the key, kept as long as both feeds are heard. */
export class KeyRecords {
  private readonly cache: ReadThroughCache<Entry>;

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
  async find(keyHash: Buffer): Promise<ResolvedKey | null> {
    this.feeds.forEach((feed) => feed.assertAlive());
    const id = keyHash.toString('base64');
    const cached = this.cache.peek(id);
    if (cached && !this.hasLapsed(cached.record)) return cached.record;
    // Credentials notes the end of a key when it is asked for it, so it is asked once more.
    if (cached) this.cache.invalidate((entry) => entry === cached);
    const entry = await this.cache.get(id, () => this.read(id, keyHash));
    return entry?.record ?? null;
  }

  /** Drops what a `credential.changed` names. */
  credentialsChanged({ keyIds, keyHashes }: CredentialChanged): void {
    const ids = new Set(keyIds);
    const hashes = new Set(keyHashes.map((hex) => Buffer.from(hex, 'hex').toString('base64')));
    this.cache.invalidate((entry) => ids.has(entry.record.keyId) || hashes.has(entry.keyHash));
  }

  /** Drops the keys whose creator, partner or organisation an `access.changed` may mean. */
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

  private hasLapsed({ status, expiresAt }: ResolvedKey): boolean {
    return status === 'active' && !isBefore(this.clock, expiresAt);
  }

  private async read(id: string, keyHash: Buffer): Promise<Entry | null> {
    const record = await this.source().resolve(keyHash);
    return record && { keyHash: id, record };
  }
}

/** Is it still before this time? A key without end never ends. */
export function isBefore(clock: Clock, expiresAt: string | null): boolean {
  return expiresAt === null || clock.nowMs() < Date.parse(expiresAt);
}
