import { Injectable } from '@nestjs/common';
import { assertManagesSite, assertSite, siteFilter, type Caller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, type DoneDto, NotFoundError, ValidationError } from '@rmm/service-kit';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { SitesRepository } from '../sites/sites.repository.js';
import type { Contact } from './contact.entity.js';
import { ContactLimitExceeded } from './contact.errors.js';
import { toContactDto } from './contact.mapper.js';
import { type ContactFields, ContactsRepository } from './contacts.repository.js';
import type { ContactDto, ContactResponseDto } from './dto/contact.dto.js';
import type { CreateContactDto } from './dto/create-contact.dto.js';
import type { ListContactsDto } from './dto/list-contacts.dto.js';
import type { UpdateContactDto } from './dto/update-contact.dto.js';

/** Contacts of one organization. */
export const MAX_CONTACTS = 2_000;

/** Serializes the changes of the contacts of a partner, so that an import and its rows see one state. */
export const contactsLock = (partnerId: string): string => `rmm.provisioning.contacts.${partnerId}`;

/** Manages the contacts of organizations and sites. @see docs/reference/provisioning.md#contacts */
@Injectable()
export class ContactsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly contacts: ContactsRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly sites: SitesRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws NotFoundError, InvalidCursor; SiteAccessDenied  for a site that a restricted member does not see */
  async list(caller: Caller, orgId: string, query: ListContactsDto): Promise<SortedPage<ContactDto>> {
    await this.getOrganization(caller, orgId);
    const { siteId, role } = query;
    if (siteId !== undefined) assertSite(caller, siteId === 'none' ? null : siteId);
    const filter = { orgId, siteId, role, siteIds: siteFilter(caller) };
    const { rows, pagination } = await this.contacts.list(caller, filter, query);
    return { data: rows.map(toContactDto), pagination };
  }

  /**
   * @throws NotFoundError, ContactLimitExceeded; ValidationError  for a site of another organization, or without name,
   *   address and numbers; SiteAccessDenied  for a member restricted to other sites
   */
  async create(caller: Caller, orgId: string, dto: CreateContactDto): Promise<ContactResponseDto> {
    const { siteId = null, roles, isPrimary = false } = dto;
    assertIdentified(dto);
    assertManagesSite(caller, siteId);
    const { partnerId } = await this.getOrganization(caller, orgId);
    return this.tenants.lockedTransaction(caller, contactsLock(partnerId), async (tx) => {
      await this.getOrganization(tx, orgId);
      await this.assertSite(tx, orgId, siteId);
      if ((await this.contacts.countOf(tx, orgId)) >= MAX_CONTACTS) throw new ContactLimitExceeded();
      if (isPrimary) await this.takePrimary(tx, orgId);
      const { name = null, email = null, phone = null, mobile = null, title = null, notes = null } = dto;
      const fields = { siteId, name, email, phone, mobile, title, roles: roles ?? [], isPrimary, notes };
      const contact = await this.contacts.create(tx, { partnerId, orgId }, fields);
      await this.record(tx, caller, 'contact.create', contact, {});
      return { data: toContactDto(contact) };
    });
  }

  /**
   * @throws NotFoundError; ValidationError  for a site of another organization, or when name, address and numbers would all
   *   be cleared; SiteAccessDenied  for a member restricted to other sites
   */
  update(caller: Caller, id: string, dto: UpdateContactDto): Promise<ContactResponseDto> {
    const changes = Object.fromEntries(
      Object.entries(dto).filter(([, value]) => value !== undefined),
    ) as Partial<ContactFields>;
    const fields = Object.keys(changes);
    if (fields.length === 0) throw ValidationError.nothingToChange();
    if (dto.roles === null) changes.roles = [];
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.lockManaged(tx, caller, id);
      assertIdentified({ ...before, ...changes });
      if (changes.siteId !== undefined) {
        assertManagesSite(caller, changes.siteId);
        await this.assertSite(tx, before.orgId, changes.siteId);
      }
      if (changes.isPrimary === true && !before.isPrimary) await this.takePrimary(tx, before.orgId);
      const contact = await this.contacts.change(tx, id, changes);
      await this.record(tx, caller, 'contact.update', contact, { fields });
      return { data: toContactDto(contact) };
    });
  }

  /** @throws NotFoundError; SiteAccessDenied  for a member restricted to other sites */
  delete(caller: Caller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const contact = await this.lockManaged(tx, caller, id);
      await this.contacts.remove(tx, id);
      await this.record(tx, caller, 'contact.delete', contact, {});
      return { success: true };
    });
  }

  /** @throws NotFoundError, SiteAccessDenied, RecordChanged */
  private async lockManaged(tx: TenantTransaction, caller: Caller, id: string): Promise<Contact> {
    const contact = await this.contacts.lock(tx, id);
    assertManagesSite(caller, contact.siteId);
    await assertIfMatch(() => ({ data: toContactDto(contact) }));
    return contact;
  }

  /** Returns the organization of the path. @throws NotFoundError  also for a foreign or inactive one */
  private async getOrganization(source: Caller | TenantTransaction, orgId: string) {
    const organization = await this.organizations.findAccessible(source, orgId);
    if (!organization) throw new NotFoundError('Organization');
    return organization;
  }

  /** Locks the organization, so that two contacts that become primary at once follow each other. */
  private async takePrimary(tx: TenantTransaction, orgId: string): Promise<void> {
    await this.organizations.lock(tx, orgId);
    await this.contacts.clearPrimary(tx, orgId);
  }

  /** @throws ValidationError naming `siteId` */
  private async assertSite(tx: TenantTransaction, orgId: string, siteId: string | null): Promise<void> {
    if (siteId === null || (await this.sites.keep(tx, orgId, siteId))) return;
    throw ValidationError.forField('siteId', 'is not a site of the organization');
  }

  /** The audit trail outlives the contact, so it has neither name nor address. */
  private async record(
    tx: TenantTransaction,
    caller: Caller,
    action: AuditAction,
    { id, orgId, partnerId, siteId }: Contact,
    details: Record<string, unknown>,
  ): Promise<void> {
    const resource = { type: 'contact', id, name: null, orgId, partnerId };
    await this.audit.record(tx, caller, action, resource, { siteId, ...details });
  }
}

type Identity = Partial<Pick<ContactFields, 'name' | 'email' | 'phone' | 'mobile'>>;

function assertIdentified({ name, email, phone, mobile }: Identity): void {
  if (name ?? email ?? phone ?? mobile) return;
  throw ValidationError.forField('name', 'or one of email, phone and mobile is required');
}
