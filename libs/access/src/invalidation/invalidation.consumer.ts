import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  Optional,
} from '@nestjs/common';
import type { AccessChanged } from '@rmm/contracts';
import { NatsLink } from '@rmm/messaging';
import { OrganizationDirectory } from '../directory/organization-directory.service.js';
import { KeyRecords } from '../keys/key-records.service.js';
import { AccessSnapshots } from '../snapshots/access-snapshots.service.js';
import { VerificationKeysService } from '../tokens/verification-keys.service.js';
import { HeartbeatPublisher } from './heartbeat-publisher.service.js';
import { InvalidationFeeds } from './invalidation-feeds.service.js';

/** Drops cached users, keys, organizations and tokens of withdrawn signing keys when their changes are broadcast, or when a broadcast may be lost. */
@Injectable()
export class InvalidationConsumer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly link: NatsLink,
    private readonly feeds: InvalidationFeeds,
    private readonly snapshots: AccessSnapshots,
    private readonly records: KeyRecords,
    private readonly directory: OrganizationDirectory,
    private readonly keys: VerificationKeysService,
    @Optional() @Inject(HeartbeatPublisher) private readonly heartbeat?: HeartbeatPublisher | null,
  ) {}

  onApplicationBootstrap(): void {
    this.feeds.onGap(() => this.snapshots.flush());
    this.feeds.onGap(() => this.records.flush());
    this.feeds.onGap(() => this.keys.reload());
    this.feeds.subscribe('access.keys-withdrawn', ({ kids }) => this.keys.withdraw(kids));
    this.feeds.subscribe('access.changed', (change) => this.onAccessChanged(change));
    this.feeds.subscribe('credential.changed', (change) => this.records.onCredentialsChanged(change));
    this.feeds.start(this.link);
    this.link.onReconnect(() => this.heartbeat?.skipNumber());
  }

  beforeApplicationShutdown(): void {
    this.feeds.stop();
  }

  private onAccessChanged(change: AccessChanged): void {
    this.snapshots.invalidate(change);
    this.records.onAccessChanged(change);
    this.directory.markOutdated(change.orgIds ?? []);
  }
}
