import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  TenantDatabase,
  TenantRepository,
  WorkerDatabase,
  type PageRequest,
  type PageRows,
  type QueryShape,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { nameKey } from '../organizations/name-key.js';
import { ACTIVE_ORGANIZATION } from '../organizations/organizations.repository.js';
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

/** The sites of an inactive organization cannot be accessed. */
const VIEW: QueryShape<Site> = {
  key: 'view',
  build: (query) =>
    query
      .innerJoin('organization', 'o', `o.id = site.orgId AND ${ACTIVE_ORGANIZATION}`)
      .addSelect('coalesce((SELECT c.devices FROM site_count c WHERE c.site_id = site.id), 0)', 'deviceCount'),
};

@Injectable()
export class SitesRepository extends TenantRepository<Site> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, Site, () => new NotFoundError('Site'), { ownership: 'organization' });
  }

  /** Lists one page, newest first. */
  list(caller: Caller, { orgId, search, siteIds }: SiteFilter, page: PageRequest): Promise<PageRows<SiteView>> {
    const pattern = search && `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return this.listPage<SiteView>(caller, {
      where: { orgId, id: siteIds ?? undefined, deletedAt: null },
      conditions: [pattern !== undefined && { sql: 'site.name ILIKE :pattern', params: { pattern } }],
      shape: VIEW,
      page,
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

  /** Returns a live site of an organization for another service, or null. Uses the worker login: there is no caller. */
  async findLive(orgId: string, id: string): Promise<SiteStateRow | null> {
    const [site] = await this.worker.query<SiteStateRow>(
      `SELECT id, org_id AS "orgId", partner_id AS "partnerId", name, deleted_at AS "deletedAt", version
         FROM site WHERE id = :id AND org_id = :orgId AND deleted_at IS NULL`,
      { orgId, id },
    );
    return site ?? null;
  }

  /** Returns which of the ids are live sites of an organization, for another service. Uses the worker login. */
  async listLiveIds(orgId: string, ids: readonly string[]): Promise<string[]> {
    const sites = await this.worker.query<{ id: string }>(
      'SELECT id FROM site WHERE org_id = :orgId AND id = ANY (:ids::uuid[]) AND deleted_at IS NULL',
      { orgId, ids },
    );
    return sites.map(({ id }) => id);
  }
}
