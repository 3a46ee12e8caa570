import type { AccessChanged, AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import type { Clock } from '@rmm/service-kit';
import type { AccessSource } from '../access.tokens.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import type { InvalidationFeed } from '../invalidation/invalidation-feed.js';
import { AccessEntry } from './access-entry.js';

/** A snapshot is read again after this, whatever the feed says: grace windows and the like end by the clock. */
export const SNAPSHOT_TTL_MS = 120_000;
const MAX_SNAPSHOTS = 10_000;

/**
 * What the people behind recent requests may do, kept in process as long as the invalidation feed is heard.
 * @see ARCHITECTURE.md 3, CONTRACT.md 2.4
 */
export class AccessSnapshots {
  private readonly cache: ReadThroughCache<AccessEntry>;

  constructor(
    private readonly source: () => AccessSource,
    private readonly feed: InvalidationFeed,
    clock: Clock,
  ) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_SNAPSHOTS, ttlMs: SNAPSHOT_TTL_MS, clock });
  }

  /**
   * @returns null when identity does not know the user or the session
   * @throws UnavailableError  503 when the feed is silent or identity cannot be asked
   */
  async get(session: AccessResolveRequest): Promise<AccessEntry | null> {
    this.feed.assertAlive();
    const key = keyOf(session);
    return this.cache.peek(key) ?? (await this.cache.get(key, () => this.read(session)));
  }

  /** Has identity open the enrollment window of this person. It announces that, which drops what is kept here. */
  async openMfaGrace(session: AccessResolveRequest): Promise<void> {
    await this.source().resolve({ ...session, opensMfaGrace: true });
  }

  /** Drops everybody an `access.changed` speaks of, also from reads under way. */
  invalidate(change: AccessChanged): void {
    const means = matcherOf(change);
    this.cache.invalidate((entry) => means(entry.snapshot));
  }

  /** Drops everybody. */
  flush(): void {
    this.cache.flush();
  }

  get size(): number {
    return this.cache.size;
  }

  private async read(session: AccessResolveRequest): Promise<AccessEntry | null> {
    const snapshot = await this.source().resolve(session);
    return snapshot && new AccessEntry(snapshot);
  }
}

const keyOf = ({ userId, sessionId, scope, partnerId, orgId }: AccessResolveRequest): string =>
  `${userId}|${sessionId}|${scope}|${partnerId ?? ''}|${orgId ?? ''}`;

/** Does the change touch this person: by name, by role, by partner or by organization? */
function matcherOf(change: AccessChanged): (snapshot: AccessSnapshot) => boolean {
  const [users, roles, partners, orgs] = [change.userIds, change.roleIds, change.partnerIds, change.orgIds].map(
    (ids) => new Set<string | null>(ids ?? []),
  );
  return ({ userId, roleId, partnerId, orgId }) =>
    users.has(userId) || roles.has(roleId) || partners.has(partnerId) || orgs.has(orgId);
}
