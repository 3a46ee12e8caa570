import { Inject, Injectable } from '@nestjs/common';
import { IsNull, Not } from 'typeorm';
import { OrganizationAccessDenied, type Caller } from '@rmm/access';
import type { OrganizationSecurity } from '@rmm/contracts';
import {
  TenantDatabase,
  type HasTenant,
  type ListedOrganizations,
  type QueryShape,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { SortedListRepository, type SortedPageRequest, type SortedRows } from '../lists/sorted-list.repository.js';
import { nameKey } from './name-key.js';
import { Organization, type BillingContact, type OrganizationType } from './organization.entity.js';

/**
 * SQL condition on an organization `o` whose sites and devices can be accessed. A join names the partner as well: it is the
 * same, and limits what a hash join reads of the organizations.
 */
export const ACTIVE_ORGANIZATION = `o.deleted_at IS NULL AND o.status IN ('active', 'trial')`;

/** The organizations of a list of sites or devices. */
export const ACTIVE_ORGANIZATIONS: ListedOrganizations = {
  table: 'organization',
  id: 'id',
  condition: ACTIVE_ORGANIZATION,
};

/** The days during which a deleted organization can be restored; then it is erased. */
export const RESTORE_DAYS = 30;

/** An organization with the values of other tables that its DTO shows. */
export interface OrganizationView extends Organization {
  /** Null when identity stores no policy. */
  security: OrganizationSecurity | null;
  externalLinks: { system: string; externalId: string }[];
  /** Without decommissioned devices. */
  deviceCount: number;
}

export interface OrganizationFilter {
  search?: string;
  status?: Organization['status'];
  partnerId?: string;
  /** True for the deleted organizations that can still be restored instead of the live ones. */
  deleted?: boolean;
}

/** Absent fields stay as they are. */
export interface OrganizationChanges {
  name?: string;
  slug?: string;
  type?: OrganizationType;
  status?: Organization['status'];
  settings?: Record<string, unknown>;
  contractStart?: Date | null;
  contractEnd?: Date | null;
  billingContact?: BillingContact | null;
}

export type NewOrganization = OrganizationChanges & {
  id?: string;
  partnerId: string;
  name: string;
  slug: string;
  isFirst?: boolean;
};

const SECURITY = '(SELECT s.security FROM organization_security s WHERE s.org_id = organization.id)';
const EXTERNAL_LINKS = `
  (SELECT coalesce(jsonb_agg(jsonb_build_object('system', l.system, 'externalId', l.external_id)
                             ORDER BY l.system, l.external_id), '[]')
     FROM external_link l WHERE l.org_id = organization.id)`;
const DEVICE_COUNT = 'coalesce((SELECT c.devices FROM organization_count c WHERE c.org_id = organization.id), 0)';

const VIEW: QueryShape<Organization> = {
  key: 'view',
  build: (query) =>
    query
      .addSelect(SECURITY, 'security')
      .addSelect(EXTERNAL_LINKS, 'externalLinks')
      .addSelect(DEVICE_COUNT, 'deviceCount'),
};

const RESTORABLE = {
  sql: `organization.deletedAt > now() - interval '${RESTORE_DAYS} days' AND organization.erasedAt IS NULL`,
};

const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

@Injectable()
export class OrganizationsRepository extends SortedListRepository<Organization> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'organization' as const, ownerColumns: { orgId: 'id' }, list: 'organizations' };
    super(tenants, config, Organization, () => new NotFoundError('Organization'), options);
  }

  /** Lists one page; newest first unless sorted otherwise. @throws InvalidCursor */
  list(caller: Caller, filter: OrganizationFilter, page: SortedPageRequest): Promise<SortedRows<OrganizationView>> {
    const { search, status, partnerId, deleted = false } = filter;
    const sql = '(organization.name ILIKE :search OR organization.slug ILIKE :search)';
    return this.listSorted<OrganizationView>(caller, page, filter, {
      where: { status, partnerId, ...(!deleted && { deletedAt: null }) },
      conditions: [deleted && RESTORABLE, search !== undefined && { sql, params: { search: containing(search) } }],
      shape: VIEW,
      budget: { columns: ['settings', 'security', 'externalLinks'] },
    });
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<OrganizationView> {
    return this.getOne<OrganizationView>(source, { where: { id, deletedAt: null }, shape: VIEW });
  }

  /** Returns an organization that can be accessed; null for a foreign, an unknown and an inactive one. */
  findAccessible(
    source: Caller | TenantTransaction,
    id: string,
  ): Promise<Pick<Organization, 'id' | 'partnerId'> | null> {
    return this.findOne(source, {
      where: { id, deletedAt: null, status: ['active', 'trial'] },
      columns: ['id', 'partnerId'],
    });
  }

  /**
   * Returns the organization that a query or body names.
   * @throws OrganizationAccessDenied  403, the same for a foreign, an unknown and an inactive organization
   */
  async getAccessible(source: Caller | TenantTransaction, id: string): Promise<Pick<Organization, 'id' | 'partnerId'>> {
    const organization = await this.findAccessible(source, id);
    if (!organization) throw new OrganizationAccessDenied();
    return organization;
  }

  /** Checks the organizations that a query names. @throws OrganizationAccessDenied  when one of them is not accessible */
  async assertAccessible(source: Caller | TenantTransaction, ids: readonly string[]): Promise<void> {
    const unique = [...new Set(ids)];
    const found = await this.findMany(source, {
      where: { id: unique, deletedAt: null, status: ['active', 'trial'] },
      columns: ['id'],
    });
    if (found.length < unique.length) throw new OrganizationAccessDenied();
  }

  /** Locks the organization until the transaction ends, but not against rows that refer to it. @throws NotFoundError */
  lock(tx: TenantTransaction, id: string): Promise<Organization> {
    return this.getOne(tx, { where: { id, deletedAt: null }, lock: 'FOR NO KEY UPDATE' });
  }

  /** Locks the organization until the transaction ends, and returns it as responses show it. @throws NotFoundError */
  async lockView(tx: TenantTransaction, id: string): Promise<OrganizationView> {
    await this.lock(tx, id);
    return this.get(tx, id);
  }

  /** Returns a deleted organization that can still be restored. @throws NotFoundError */
  getDeleted(source: Caller | TenantTransaction, id: string): Promise<Organization> {
    return this.getOne(source, { where: { id }, conditions: [RESTORABLE] });
  }

  /** Returns an organization that is live or can still be restored. @throws NotFoundError */
  getExportable(caller: Caller, id: string): Promise<Organization> {
    return this.getOne(caller, { where: { id, erasedAt: null } });
  }

  /** Deletes the organization softly, once. @throws NotFoundError */
  markDeleted(tx: TenantTransaction, id: string): Promise<Organization> {
    const changes = { deletedAt: () => 'now()', version: () => 'version + 1' };
    return this.updateOne(tx, { id, deletedAt: IsNull() }, changes);
  }

  /** Makes a deleted organization live again; erasure may have begun in the meantime. @throws NotFoundError */
  restore(tx: TenantTransaction, id: string, slug: string): Promise<Organization> {
    const where = { id, deletedAt: Not(IsNull()), erasedAt: IsNull() };
    return this.updateOne(tx, where, {
      deletedAt: () => 'NULL',
      importUndone: false,
      slug,
      version: () => 'version + 1',
    });
  }

  /** Ends the time in which a deleted organization can be restored. @throws NotFoundError */
  markErased(tx: TenantTransaction, id: string): Promise<Organization> {
    const where = { id, deletedAt: Not(IsNull()), erasedAt: IsNull() };
    return this.updateOne(tx, where, { erasedAt: () => 'now()' });
  }

  /** Returns whether another live organization that the caller sees has the slug; the unique index decides. */
  async isSlugTaken(caller: Caller, organization: { id: string; partnerId: string }, slug: string): Promise<boolean> {
    const { id, partnerId } = organization;
    const other = { sql: 'organization.id <> :id', params: { id } };
    const where = { partnerId, slug, deletedAt: null };
    return (await this.findOne(caller, { where, conditions: [other], columns: ['id'] })) !== null;
  }

  /** Returns the id of the live organization of a partner that has the slug; null without one. */
  async findIdBySlug(source: HasTenant | TenantTransaction, partnerId: string, slug: string): Promise<string | null> {
    const found = await this.findOne(source, { where: { partnerId, slug, deletedAt: null }, columns: ['id'] });
    return found?.id ?? null;
  }

  /**
   * Returns the slugs of live organizations of a partner that may collide with the candidates: the candidates themselves and
   * their numbered variants, which are stored under the candidate as `slug_base`. Not the other variants of a candidate that
   * ends in a number: ten thousand organizations may be called "customer 1", "customer 2", ... The list is compared by hash
   * where the planner reads all organizations of the partner, so it is not joined.
   */
  async listTakenSlugs(
    tx: TenantTransaction | WorkerTransaction,
    partnerId: string,
    candidates: Iterable<string>,
  ): Promise<Set<string>> {
    const takenBy = (column: 'slug' | 'slug_base') => `
      SELECT slug FROM organization
       WHERE partner_id = :partnerId AND deleted_at IS NULL AND ${column} = ANY (:candidates::text[])`;
    const rows = await tx.query<{ slug: string }>(`${takenBy('slug')} UNION ALL ${takenBy('slug_base')}`, {
      partnerId,
      candidates: [...new Set(candidates)],
    });
    return new Set(rows.map(({ slug }) => slug));
  }

  /** Returns the organization created at sign-up; null when the partner has none. */
  findFirst(tx: WorkerTransaction, partnerId: string): Promise<Organization | null> {
    return this.findOne(tx, { where: { partnerId, isFirst: true } });
  }

  create(tx: TenantTransaction | WorkerTransaction, organization: NewOrganization): Promise<Organization> {
    return this.insert(tx, { ...organization, nameKey: nameKey(organization.name) });
  }

  /** Applies the changes and raises the version. */
  change(tx: TenantTransaction, id: string, changes: OrganizationChanges): Promise<Organization> {
    const { name } = changes;
    const key = name === undefined ? undefined : nameKey(name);
    return this.updateOne(tx, { id }, { ...changes, nameKey: key, version: () => 'version + 1' });
  }
}
