import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type QueryShape, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { SortedListRepository, type SortedPageRequest, type SortedRows } from '../lists/sorted-list.repository.js';
import { nameKey } from '../organizations/name-key.js';
import { ACTIVE_ORGANIZATION } from '../organizations/organizations.repository.js';
import { Contact, type ContactRole } from './contact.entity.js';

export interface ContactFilter {
  orgId: string;
  /** A site, or `none` for contacts of the whole organization. */
  siteId?: string;
  role?: ContactRole;
  /** The sites a member is restricted to; null for no restriction. */
  siteIds: readonly string[] | null;
}

/** The fields that users write. */
export type ContactFields = Pick<
  Contact,
  'siteId' | 'name' | 'email' | 'phone' | 'mobile' | 'title' | 'roles' | 'isPrimary' | 'notes'
>;

/** The contacts of an inactive organization cannot be accessed. */
const OF_ACTIVE_ORGANIZATION: QueryShape<Contact> = {
  key: 'active',
  build: (query) =>
    query.innerJoin(
      'organization',
      'o',
      `o.id = contact.orgId AND o.partner_id = contact.partnerId AND ${ACTIVE_ORGANIZATION}`,
    ),
};

@Injectable()
export class ContactsRepository extends SortedListRepository<Contact> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'organization' as const, list: 'contacts' };
    super(tenants, config, Contact, () => new NotFoundError('Contact'), options);
  }

  /** Lists one page of an organization; newest first unless sorted otherwise. @throws InvalidCursor */
  list(caller: Caller, filter: ContactFilter, page: SortedPageRequest): Promise<SortedRows<Contact>> {
    const { orgId, siteId, role, siteIds } = filter;
    return this.listSorted<Contact>(caller, page, filter, {
      where: { orgId, siteId: siteId === 'none' ? null : siteId },
      conditions: [
        role !== undefined && { sql: 'contact.roles @> ARRAY[:role]::text[]', params: { role } },
        siteIds !== null && { sql: 'contact.siteId = ANY (:siteIds::uuid[])', params: { siteIds } },
      ],
      shape: OF_ACTIVE_ORGANIZATION,
      budget: { columns: ['notes'] },
    });
  }

  /** Locks a contact until the transaction ends. @throws NotFoundError */
  lock(tx: TenantTransaction, id: string): Promise<Contact> {
    return this.getOne(tx, { where: { id }, shape: OF_ACTIVE_ORGANIZATION, lock: 'FOR UPDATE' });
  }

  countOf(tx: TenantTransaction, orgId: string): Promise<number> {
    return this.count(tx, { where: { orgId } });
  }

  create(tx: TenantTransaction, owner: { partnerId: string; orgId: string }, fields: ContactFields): Promise<Contact> {
    return this.insert(tx, { ...owner, ...fields, nameKey: nameKey(fields.name ?? '') });
  }

  /** Applies the changes; absent fields stay as they are. */
  change(tx: TenantTransaction, id: string, changes: Partial<ContactFields>): Promise<Contact> {
    const key = changes.name === undefined ? undefined : nameKey(changes.name ?? '');
    return this.updateOne(tx, { id }, { ...changes, nameKey: key });
  }

  /** Takes the mark from the primary contact of an organization, if it has one. */
  async clearPrimary(tx: TenantTransaction, orgId: string): Promise<void> {
    await this.update(tx, { orgId, isPrimary: true }, { isPrimary: false });
  }

  /** Makes the contacts of a site contacts of the whole organization. */
  async detachSite(tx: TenantTransaction, orgId: string, siteId: string): Promise<void> {
    await this.update(tx, { orgId, siteId }, { siteId: null });
  }

  async remove(tx: TenantTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }
}
