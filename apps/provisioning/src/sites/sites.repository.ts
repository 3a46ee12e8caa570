import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  type HasTenant,
  TenantDatabase,
  type QueryShape,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { SortedListRepository, type SortedPageRequest, type SortedRows } from '../lists/sorted-list.repository.js';
import { nameKey } from '../organizations/name-key.js';
import { ACTIVE_ORGANIZATION, ACTIVE_ORGANIZATIONS } from '../organizations/organizations.repository.js';
import type { SiteCount } from './site-count.entity.js';
import type { SiteAddress, SiteContact } from './site-details.mapper.js';
import { Site } from './site.entity.js';
import type { SiteStateRow } from './site.events.js';

export interface SiteView extends Site {
  /** Without decommissioned devices. */
  deviceCount: number;
}

export interface SiteFilter {
  orgId?: string;
  search?: string;
  /** The sites a member is restricted to; null for no restriction. */
  siteIds: readonly string[] | null;
}

export interface NewSite {
  partnerId: string;
  orgId: string;
  name: string;
  timezone: string;
  address?: SiteAddress | null;
  contact?: SiteContact | null;
  settings?: Record<string, unknown>;
}

/** Absent fields stay as they are. */
export type SiteChanges = Partial<Pick<NewSite, 'name' | 'timezone' | 'address' | 'contact' | 'settings'>>;

/** The sites of an inactive organization cannot be accessed. */
const OF_ACTIVE_ORGANIZATION: QueryShape<Site> = {
  key: 'active',
  build: (query) =>
    query.innerJoin(
      'organization',
      'o',
      `o.id = site.orgId AND o.partner_id = site.partnerId AND ${ACTIVE_ORGANIZATION}`,
    ),
};

const VIEW: QueryShape<Site> = {
  key: 'view',
  build: (query) =>
    OF_ACTIVE_ORGANIZATION.build(query).addSelect(
      'coalesce((SELECT c.devices FROM site_count c WHERE c.site_id = site.id), 0)',
      'deviceCount',
    ),
};

@Injectable()
export class SitesRepository extends SortedListRepository<Site> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'organization' as const, list: 'sites' };
    super(tenants, config, Site, () => new NotFoundError('Site'), options);
  }

  /** Lists one page; newest first unless sorted otherwise. @throws InvalidCursor */
  list(caller: Caller, filter: SiteFilter, page: SortedPageRequest): Promise<SortedRows<SiteView>> {
    const { orgId, search, siteIds } = filter;
    const pattern = search && `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return this.listSorted<SiteView>(caller, page, filter, {
      where: { orgId, id: siteIds ?? undefined, deletedAt: null },
      conditions: [pattern !== undefined && { sql: 'site.name ILIKE :pattern', params: { pattern } }],
      shape: VIEW,
      organizations: ACTIVE_ORGANIZATIONS,
      budget: { columns: ['settings', 'address', 'contact'] },
    });
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<SiteView> {
    return this.getOne<SiteView>(source, { where: { id, deletedAt: null }, shape: VIEW });
  }

  /** Returns whether the organization has all these sites, soft-deleted ones included. */
  async allExist(caller: Caller, orgId: string, ids: readonly string[]): Promise<boolean> {
    const unique = [...new Set(ids)];
    return (await this.count(caller, { where: { id: unique, orgId } })) === unique.length;
  }

  /** Returns the first site of an organization, also when it was deleted. @throws NotFoundError */
  getOldest(tx: WorkerTransaction, orgId: string): Promise<Site> {
    return this.getOne(tx, { where: { orgId }, sort: { createdAt: 'ASC', id: 'ASC' } });
  }

  create(tx: TenantTransaction | WorkerTransaction, site: NewSite): Promise<Site> {
    return this.insert(tx, { ...site, nameKey: nameKey(site.name) });
  }

  /** Locks a site until the transaction ends; for its deletion also against new devices and groups. @throws NotFoundError */
  lock(tx: TenantTransaction, id: string, lock: 'FOR NO KEY UPDATE' | 'FOR UPDATE'): Promise<Site> {
    return this.getOne(tx, { where: { id, deletedAt: null }, shape: OF_ACTIVE_ORGANIZATION, lock });
  }

  /** Returns whether the organization has the site, which is then not deleted before the transaction ends. */
  async keep(tx: TenantTransaction, orgId: string, id: string): Promise<boolean> {
    const where = { id, orgId, deletedAt: null };
    return (await this.findOne(tx, { where, columns: ['id'], lock: 'FOR SHARE' })) !== null;
  }

  /** Returns the organization of a site, which is then not deleted before the transaction ends; null for an unknown site. */
  async findOrganization(tx: TenantTransaction, id: string): Promise<string | null> {
    const site = await this.findOne(tx, { where: { id, deletedAt: null }, columns: ['orgId'], lock: 'FOR SHARE' });
    return site?.orgId ?? null;
  }

  /** Returns the number of devices of a site without decommissioned ones, from its counter. */
  async countDevices(tx: TenantTransaction, id: string): Promise<number> {
    const [row] = await tx.query<Pick<SiteCount, 'devices'>>('SELECT devices FROM site_count WHERE site_id = :id', {
      id,
    });
    return row?.devices ?? 0;
  }

  /** Applies the changes and raises the version. */
  change(tx: TenantTransaction, id: string, changes: SiteChanges): Promise<Site> {
    const key = changes.name === undefined ? undefined : nameKey(changes.name);
    return this.updateOne(tx, { id }, { ...changes, nameKey: key, version: () => 'version + 1' });
  }

  /** Deletes the site, which must be locked. */
  remove(tx: TenantTransaction, id: string): Promise<Site> {
    return this.updateOne(tx, { id }, { deletedAt: () => 'now()', version: () => 'version + 1' });
  }

  /** Returns a live site of an organization for another service, or null. */
  findLive(caller: HasTenant, orgId: string, id: string): Promise<SiteStateRow | null> {
    const columns = ['id', 'orgId', 'partnerId', 'name', 'deletedAt', 'version'] as const;
    return this.findOne(caller, { where: { id, orgId, deletedAt: null }, columns });
  }

  /** Returns which of the ids are live sites of an organization, for another service. */
  async listLiveIds(caller: HasTenant, orgId: string, ids: readonly string[]): Promise<string[]> {
    const sites = await this.findMany(caller, { where: { orgId, id: ids, deletedAt: null }, columns: ['id'] });
    return sites.map(({ id }) => id);
  }
}
