import { Inject, Injectable, Optional } from '@nestjs/common';
import { type Envelope, IDENTITY_PARTNERS_GET, IDENTITY_PARTNERS_LIST_SINCE } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { AccessSources } from '../access-sources.service.js';
import { ACCESS_CONFIG, type AccessConfig } from '../access.config.js';
import { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { type DirectoryPartner, readPartner, STRICTEST } from './directory-partner.js';
import { DirectoryTools } from './directory-tools.service.js';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';
import { TenantDirectory } from './tenant-directory.service.js';

/** Looks up the status and the caps of partners, which identity owns. @see TenantDirectory */
@Injectable()
export class PartnerDirectory {
  private readonly directory: TenantDirectory<DirectoryPartner>;

  constructor(
    repository: PartnerDirectoryRepository,
    sources: AccessSources,
    rpc: RpcClient,
    feeds: InvalidationFeeds,
    tools: DirectoryTools,
    @Inject(ACCESS_CONFIG) { partners }: AccessConfig,
    @Optional() worker?: WorkerDatabase,
  ) {
    const parts = {
      name: 'partner' as const,
      repository,
      idOf: ({ partnerId }: DirectoryPartner) => partnerId,
      read: readPartner,
      strictest: (partner: DirectoryPartner) => ({ ...partner, ...STRICTEST, name: '', slug: '', timezone: 'UTC' }),
      get: async (partnerIds: readonly string[]) =>
        (await rpc.call(IDENTITY_PARTNERS_GET, { partnerIds: [...partnerIds] })).partners,
      list: async (after: string | null, limit: number) => {
        const page = await rpc.call(IDENTITY_PARTNERS_LIST_SINCE, { after, limit });
        return { states: page.partners, next: page.next };
      },
      onStored: async (tx: WorkerTransaction, partnerIds: readonly string[]) =>
        sources.tenantListener?.tenantsStored(tx, { partnerIds }),
      feed: feeds.access,
      worker: partners === 'table' ? worker : undefined,
    };
    this.directory = new TenantDirectory(parts, tools);
  }

  /**
   * Reads through to identity on a miss.
   * @returns also inactive ones; null when there is no such partner
   * @throws UnavailableError  503 when its state is not known
   */
  find(partnerId: string): Promise<DirectoryPartner | null> {
    return this.directory.find(partnerId);
  }

  /** Applies an event of identity. @throws MessageRejected */
  receive(event: Envelope): Promise<void> {
    return this.directory.receive(event, [{ named: event.partnerId, data: event.data }], 'partner-directory');
  }

  /** Reads these partners from identity on next use. */
  markOutdated(partnerIds: readonly string[]): void {
    this.directory.markOutdated(partnerIds);
  }

  /** Trusts the table again after a reconciliation only. */
  distrust(): void {
    this.directory.distrust();
  }

  reconcileWhenDue(): Promise<void> {
    return this.directory.reconcileWhenDue();
  }

  /** Compares the table with identity now. @returns the number of rows that were corrected */
  reconcile(): Promise<number> {
    return this.directory.reconcile();
  }
}
