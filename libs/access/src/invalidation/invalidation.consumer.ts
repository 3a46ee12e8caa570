import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { AccessChanged, BroadcastMap } from '@rmm/contracts';
import { AccessSources } from '../access-sources.service.js';
import { AccessMetrics } from '../access.metrics.js';
import { OrganizationDirectory } from '../directory/organization-directory.service.js';
import { PartnerDirectory } from '../directory/partner-directory.service.js';
import { KeyRecords } from '../keys/key-records.service.js';
import { AccessSnapshots } from '../snapshots/access-snapshots.service.js';
import { VerificationKeysService } from '../tokens/verification-keys.service.js';
import { FEEDS, type FeedName, InvalidationFeeds } from './invalidation-feeds.service.js';

/** Drops cached users, keys, organizations and tokens of withdrawn signing keys when their changes are broadcast, or when a broadcast may be lost. */
@Injectable()
export class InvalidationConsumer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly feeds: InvalidationFeeds,
    private readonly snapshots: AccessSnapshots,
    private readonly records: KeyRecords,
    private readonly organizations: OrganizationDirectory,
    private readonly partners: PartnerDirectory,
    private readonly sources: AccessSources,
    private readonly keys: VerificationKeysService,
    private readonly metrics: AccessMetrics,
  ) {}

  onApplicationBootstrap(): void {
    this.feeds.onGap((feed) => this.onGap(feed));
    this.subscribe('access.keys-withdrawn', ({ kids }) => this.keys.withdraw(kids));
    this.subscribe('access.changed', (change) => this.onAccessChanged(change));
    this.subscribe('credential.changed', (change) => this.records.onCredentialsChanged(change));
    this.feeds.start();
    for (const feed of FEEDS) this.metrics.observeFeed(feed, () => this.feeds[feed].silenceMs / 1_000);
    this.metrics.observeCaches({ snapshots: () => this.snapshots.size, keys: () => this.records.size });
  }

  beforeApplicationShutdown(): void {
    this.feeds.stop();
  }

  /** Measures the delay once the handler has dropped what is outdated. */
  private subscribe<Topic extends keyof BroadcastMap>(
    topic: Topic,
    handler: (data: BroadcastMap[Topic]) => void,
  ): void {
    this.feeds.subscribe(topic, (data, publishedAt) => {
      handler(data);
      this.metrics.observeInvalidation(Math.max(0, Date.now() - publishedAt.getTime()) / 1_000);
    });
  }

  private onGap(feed: FeedName): void {
    this.metrics.countGap(feed);
    this.records.flush();
    if (feed === 'access') {
      this.snapshots.flush();
      this.partners.distrust();
      this.keys.reload();
    }
    if (feed === 'organizations') this.organizations.distrust();
  }

  /** The directories come first: what reads a tenant after this reads its new state. */
  private onAccessChanged(change: AccessChanged): void {
    const { partnerIds = [], orgIds = [] } = change;
    this.partners.markOutdated(partnerIds);
    this.organizations.markOutdated(orgIds);
    this.snapshots.invalidate(change);
    this.records.onAccessChanged(change);
    if (partnerIds.length + orgIds.length > 0) this.sources.tenantListener?.tenantsOutdated({ partnerIds, orgIds });
  }
}
