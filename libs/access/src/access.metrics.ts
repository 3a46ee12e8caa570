import { Injectable } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';
import type { Caller } from './callers/caller.js';
import type { FeedName } from './invalidation/invalidation-feeds.service.js';

export type AuthenticationKind = Caller['kind'];
export type AuthenticationOutcome = 'accepted' | 'invalid' | 'forbidden' | 'rate_limited' | 'unavailable' | 'failed';

/** The metrics of authentication and of the caches that it uses. */
@Injectable()
export class AccessMetrics {
  private readonly authentications;
  private readonly gaps;
  private readonly invalidations;
  private readonly feeds = new Map<FeedName, () => number>();
  private caches: Record<string, () => number> = {};

  constructor(metrics: MetricsRegistry) {
    this.authentications = metrics.counter({
      name: 'rmm_authentications_total',
      help: 'Requests with a credential or to routes that need one, by the kind of the credential and the outcome',
      labelNames: ['kind', 'outcome'],
    });
    this.gaps = metrics.counter({
      name: 'rmm_access_feed_gaps_total',
      help: 'Times that the cached access was dropped, since an invalidation may have been lost',
      labelNames: ['feed'],
    });
    this.invalidations = metrics.histogram({
      name: 'rmm_access_invalidation_seconds',
      help: 'Time from the change of an access or a key to the moment this process has dropped what it cached of it',
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    });
    const { feeds } = this;
    metrics.gauge({
      name: 'rmm_access_feed_age_seconds',
      help: 'Time since the last heartbeat of the feed: how old cached access may be',
      labelNames: ['feed'],
      collect() {
        for (const [feed, age] of feeds) this.set({ feed }, age());
      },
    });
    const readCaches = () => Object.entries(this.caches);
    metrics.gauge({
      name: 'rmm_access_cached',
      help: 'Cached entries: snapshots of users, records of keys',
      labelNames: ['cache'],
      collect() {
        for (const [cache, size] of readCaches()) this.set({ cache }, size());
      },
    });
  }

  countAuthentication(kind: AuthenticationKind, outcome: AuthenticationOutcome): void {
    this.authentications.inc({ kind, outcome });
  }

  countGap(feed: FeedName): void {
    this.gaps.inc({ feed });
  }

  observeInvalidation(seconds: number): void {
    this.invalidations.observe(seconds);
  }

  /** @param ageSeconds  called at every scrape */
  observeFeed(feed: FeedName, ageSeconds: () => number): void {
    this.feeds.set(feed, ageSeconds);
  }

  /** @param sizes  called at every scrape */
  observeCaches(sizes: { snapshots: () => number; keys: () => number }): void {
    this.caches = sizes;
  }
}

/** Returns the outcome of a request that was refused with this status. */
export function outcomeOf(status: number): AuthenticationOutcome {
  if (status === 401) return 'invalid';
  if (status === 403 || status === 428) return 'forbidden';
  if (status === 429) return 'rate_limited';
  return status === 503 ? 'unavailable' : 'failed';
}
