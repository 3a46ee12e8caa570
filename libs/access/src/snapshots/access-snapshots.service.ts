import { Injectable } from '@nestjs/common';
import type { AccessChanged, AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import { Clock } from '@rmm/service-kit';
import { AccessSources } from '../access-sources.service.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { AccessEntry } from './access-entry.js';

/** A snapshot is read again after this time, even without an invalidation, because grace windows end by the clock. */
export const SNAPSHOT_TTL_MS = 120_000;
const MAX_SNAPSHOTS = 10_000;

/** Caches the access snapshots of recent callers (user, session, tenant) while the invalidation feed is alive. */
@Injectable()
export class AccessSnapshots {
  private readonly cache: ReadThroughCache<AccessEntry>;

  constructor(
    private readonly sources: AccessSources,
    private readonly feeds: InvalidationFeeds,
    clock: Clock,
  ) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_SNAPSHOTS, ttlMs: SNAPSHOT_TTL_MS, clock });
  }

  /**
   * @returns null when identity does not know the user or the session
   * @throws UnavailableError  503 when the feed is silent or identity does not respond
   */
  async get(session: AccessResolveRequest): Promise<AccessEntry | null> {
    this.feeds.access.assertAlive();
    const key = keyOf(session);
    return this.cache.peek(key) ?? (await this.cache.get(key, () => this.read(session)));
  }

  /** Opens the MFA enrollment window of a user. Identity broadcasts the change, which drops the cached snapshot. */
  async openMfaGrace(session: AccessResolveRequest): Promise<void> {
    await this.sources.access.resolve({ ...session, opensMfaGrace: true });
  }

  /** Drops the snapshots that an `access.changed` concerns, including those of running reads. */
  invalidate(change: AccessChanged): void {
    const concerns = matcherOf(change);
    this.cache.invalidate((entry) => concerns(entry.snapshot));
  }

  /** Drops every snapshot. */
  flush(): void {
    this.cache.flush();
  }

  get size(): number {
    return this.cache.size;
  }

  private async read(session: AccessResolveRequest): Promise<AccessEntry | null> {
    const snapshot = await this.sources.access.resolve(session);
    return snapshot && new AccessEntry(snapshot);
  }
}

const keyOf = ({ userId, sessionId, scope, partnerId, orgId }: AccessResolveRequest): string =>
  `${userId}|${sessionId}|${scope}|${partnerId ?? ''}|${orgId ?? ''}`;

/** Returns a predicate that checks whether the change names the snapshot's user, role, partner or organization. */
function matcherOf(change: AccessChanged): (snapshot: AccessSnapshot) => boolean {
  const [users, roles, partners, orgs] = [change.userIds, change.roleIds, change.partnerIds, change.orgIds].map(
    (ids) => new Set<string | null>(ids ?? []),
  );
  return ({ userId, roleId, partnerId, orgId }) =>
    users.has(userId) || roles.has(roleId) || partners.has(partnerId) || orgs.has(orgId);
}
