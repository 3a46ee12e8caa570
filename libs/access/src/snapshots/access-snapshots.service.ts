import { Injectable } from '@nestjs/common';
import type { AccessChanged, AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import { Clock } from '@rmm/service-kit';
import { AccessSources } from '../access-sources.service.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import type { UserCaller } from '../callers/caller.js';
import { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { AccessEntry } from './access-entry.js';

/** A snapshot is read again after this time, even without an invalidation, because grace windows end by the clock. */
export const SNAPSHOT_TTL_MS = 120_000;
const MAX_SNAPSHOTS = 10_000;

/** The session of a caller, with the claim of its token. */
type CallerSession = AccessResolveRequest & Pick<UserCaller, 'mfa'>;

/** Caches the access snapshots of recent callers (user, session, tenant) while the invalidation feed is alive. */
@Injectable()
export class AccessSnapshots {
  private readonly cache: ReadThroughCache<AccessEntry>;

  constructor(
    private readonly sources: AccessSources,
    private readonly feeds: InvalidationFeeds,
    clock: Clock,
  ) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_SNAPSHOTS, ttlMs: SNAPSHOT_TTL_MS, clock }, tagsOf);
  }

  /**
   * @returns null when identity does not know the user or the session
   * @throws UnavailableError  503 when the feed is silent or identity does not respond
   */
  async get(session: AccessResolveRequest): Promise<AccessEntry | null> {
    return this.findCached(session) ?? (await this.cache.get(keyOf(session), () => this.read(session)));
  }

  /**
   * Finds a user with its access as it is now, for work that goes on after the request was authenticated.
   * @returns null once the user, its session or its membership has ended
   * @throws UnavailableError  503 when the feed is silent or identity does not respond
   */
  async findCaller({ mfa, userId, sessionId, scope, partnerId, orgId }: CallerSession): Promise<UserCaller | null> {
    const entry = await this.get({ userId, sessionId, scope, partnerId, orgId });
    return entry?.isActive ? entry.caller(mfa) : null;
  }

  /** Returns the cached snapshot without a read. @throws UnavailableError  503 when the feed is silent */
  findCached(session: AccessResolveRequest): AccessEntry | undefined {
    this.feeds.access.assertAlive();
    return this.cache.peek(keyOf(session));
  }

  /** Opens the MFA enrollment window of a user. Identity broadcasts the change, which drops the cached snapshot. */
  async openMfaGrace(session: AccessResolveRequest): Promise<void> {
    await this.sources.access.resolve({ ...session, opensMfaGrace: true });
  }

  /** Drops the snapshots that an `access.changed` concerns, including those of running reads. */
  invalidate({ userIds = [], roleIds = [], partnerIds = [], orgIds = [], partnerId, orgId }: AccessChanged): void {
    const tenants = [...partnerIds.map(partnerTag), ...orgIds.map(organizationTag)];
    this.cache.invalidate(tenants);
    const named = [...userIds.map(userTag), ...roleIds.map(roleTag)];
    this.cache.invalidate(named, ({ snapshot }) => isWithin(snapshot, { partnerId, orgId }));
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

const userTag = (id: string): string => `user:${id}`;
const roleTag = (id: string): string => `role:${id}`;
const partnerTag = (id: string): string => `partner:${id}`;
const organizationTag = (id: string): string => `org:${id}`;

/** A session that does not exist is no session later either. */
function tagsOf(entry: AccessEntry | null): string[] {
  if (entry === null) return [];
  const { userId, roleId, partnerId, orgId } = entry.snapshot;
  const tags = [userTag(userId)];
  if (roleId !== null) tags.push(roleTag(roleId));
  if (partnerId !== null) tags.push(partnerTag(partnerId));
  if (orgId !== null) tags.push(organizationTag(orgId));
  return tags;
}

/** Returns false for a snapshot of another tenant than the one the change is restricted to. */
function isWithin(snapshot: AccessSnapshot, { partnerId, orgId }: Pick<AccessChanged, 'partnerId' | 'orgId'>): boolean {
  if (partnerId !== undefined && snapshot.partnerId !== partnerId) return false;
  return orgId === undefined || snapshot.orgId === orgId;
}
