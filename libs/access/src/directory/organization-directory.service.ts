import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Envelope } from '@rmm/contracts';
import { type HasTenant, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { isUuid } from '@rmm/validation';
import { AccessSources } from '../access-sources.service.js';
import { ACCESS_CONFIG, type AccessConfig } from '../access.config.js';
import { OrganizationAccessDenied } from '../access.errors.js';
import { canAccessOrganization } from '../callers/organization-access.policy.js';
import { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { type DirectoryOrganization, isLive, readOrganization } from './directory-organization.js';
import { DirectoryTools } from './directory-tools.service.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';
import { TenantDirectory } from './tenant-directory.service.js';

const EFFECT = 'organization-directory';

function readId(data: unknown): string | null {
  const { orgId } = Object(data) as Record<string, unknown>;
  return isUuid(orgId) ? orgId : null;
}

/** Looks up the partner and the status of organizations, which provisioning owns. @see TenantDirectory */
@Injectable()
export class OrganizationDirectory {
  private readonly directory: TenantDirectory<DirectoryOrganization>;

  constructor(
    repository: OrganizationDirectoryRepository,
    sources: AccessSources,
    feeds: InvalidationFeeds,
    tools: DirectoryTools,
    @Inject(ACCESS_CONFIG) { organizations }: AccessConfig,
    @Optional() worker?: WorkerDatabase,
  ) {
    const parts = {
      name: 'organization' as const,
      repository,
      idOf: ({ orgId }: DirectoryOrganization) => orgId,
      read: readOrganization,
      strictest: (organization: DirectoryOrganization) => ({ ...organization, name: '', slug: '' }),
      get: (ids: readonly string[]) => sources.organizations.get(ids),
      list: async (after: string | null, limit: number) => {
        const page = await sources.organizations.listSince({ after, limit });
        return { states: page.organizations, next: page.next };
      },
      onStored: async (tx: WorkerTransaction, orgIds: readonly string[]) =>
        sources.tenantListener?.tenantsStored(tx, { orgIds }),
      feed: organizations === 'own' ? undefined : feeds.organizations,
      worker: organizations === 'table' ? worker : undefined,
    };
    this.directory = new TenantDirectory(parts, tools);
  }

  /**
   * Reads through to the owner on a miss, so that an organization is known as soon as it exists.
   * @returns also deleted and suspended ones; null when the id is unknown
   * @throws UnavailableError  503 when its state is not known
   */
  find(orgId: string): Promise<DirectoryOrganization | null> {
    return this.directory.find(orgId);
  }

  /** Reads many organizations at once, before a request looks each of them up. */
  preload(orgIds: readonly string[]): Promise<void> {
    return this.directory.preload(orgIds);
  }

  /**
   * Returns the organization that a request names, if the caller may access it.
   * @throws OrganizationAccessDenied  403, the same for unknown, inactive and inaccessible organizations
   */
  async assertOrganizationAccess(caller: HasTenant, orgId: string): Promise<DirectoryOrganization> {
    const organization = await this.find(orgId);
    if (organization === null || !isLive(organization) || !canAccessOrganization(caller, organization)) {
      throw new OrganizationAccessDenied();
    }
    return organization;
  }

  /** Applies an event of provisioning. @throws MessageRejected */
  receive(event: Envelope): Promise<void> {
    return this.directory.receive(event, [{ named: event.orgId, data: event.data }], EFFECT);
  }

  /**
   * Applies an event with the states of several organizations. When it does not say of which, any of them may have
   * changed: the table is trusted again after a reconciliation only.
   * @throws MessageRejected
   */
  async receiveSet(event: Envelope): Promise<void> {
    const { organizations } = event.data as { organizations?: unknown };
    const states: unknown[] = Array.isArray(organizations) ? organizations : [null];
    const changes = states.map((data) => ({ named: readId(data), data }));
    if (changes.some(({ named }) => named === null)) this.distrust();
    await this.directory.receive(event, changes, EFFECT);
  }

  /** Reads these organizations from their owner on next use. */
  markOutdated(orgIds: readonly string[]): void {
    this.directory.markOutdated(orgIds);
  }

  /** Trusts the table again after a reconciliation only. */
  distrust(): void {
    this.directory.distrust();
  }

  reconcileWhenDue(): Promise<void> {
    return this.directory.reconcileWhenDue();
  }

  /** Compares the table with provisioning now. @returns the number of rows that were corrected */
  reconcile(): Promise<number> {
    return this.directory.reconcile();
  }
}
