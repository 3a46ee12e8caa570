import { PartnerAccessDenied, ScopeNotAllowed, type Caller, type UserCaller } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, toPage, ValidationError, type Paged } from '@rmm/service-kit';
import { lockOrganizations } from '../partners/partner-locks.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import { partnerFor } from './acting-partner.js';
import type { BillingContactDto } from './dto/billing-contact.dto.js';
import type { CreateOrganizationDto } from './dto/create-organization.dto.js';
import type { ListOrganizationsDto } from './dto/list-organizations.dto.js';
import type { UpdateOrganizationDto } from './dto/update-organization.dto.js';
import type { BillingContact } from './organization.entity.js';
import { OrganizationLimitReached, OrganizationSlugConflict } from './organization.errors.js';
import { organizationAccessChanged, organizationMessage, type OrganizationRow } from './organization-facts.js';
import { OrganizationSecurityRepository } from './organization-security.repository.js';
import { OrganizationsRepository, type OrganizationChange, type OrganizationView } from './organizations.repository.js';
import { SecurityPolicies } from './security-policies.js';
import { mergeSettings, splitSecurity } from './settings.js';
import { freeSlug, slugBases, slugFor } from './slug.js';
import { takenSlugs } from './taken-slugs.js';

/** Organizations as people keep them, one by one. Imports have their own feature. */
@Injectable()
export class OrganizationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly organizations: OrganizationsRepository,
    private readonly partners: PartnersRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly policies: SecurityPolicies,
    private readonly copies: OrganizationSecurityRepository,
  ) {}

  async list(caller: Caller, query: ListOrganizationsDto): Promise<Paged<OrganizationView>> {
    const { page, limit, search, status, partnerId } = query;
    if (partnerId !== undefined) partnerFor(caller, partnerId);
    const sql = this.tenants.reader(caller);
    const filter = { search, status, partnerId };
    const [rows, total] = await Promise.all([
      this.organizations.list(sql, filter, { limit, offset: (page - 1) * limit }),
      this.organizations.count(sql, filter),
    ]);
    return toPage(query, total, rows);
  }

  /** @throws NotFoundError */
  async get(caller: Caller, id: string): Promise<OrganizationView> {
    const organization = await this.organizations.find(this.tenants.reader(caller), id);
    if (!organization) throw new NotFoundError('Organization');
    return organization;
  }

  /** @throws OrganizationSlugConflict, OrganizationLimitReached, PartnerAccessDenied */
  create(caller: Caller, dto: CreateOrganizationDto): Promise<OrganizationView> {
    const partnerId = partnerFor(caller, dto.partnerId);
    return this.tenants.transaction(caller, async (tx) => {
      await lockOrganizations(tx, partnerId);
      await this.assertRoom(tx, caller, partnerId);
      const slug = dto.slug ?? (await this.freeSlug(tx, partnerId, dto.name));
      const row = await this.orSlugConflict(
        this.organizations.insert(tx, { ...changeOf(dto, {}), partnerId, name: dto.name, slug }),
      );
      await this.tell(tx, caller, 'create', row, { slug });
      return this.view(tx, row.id);
    });
  }

  /**
   * The security policy, where the request has one, is identity's to save, and first: what it refuses, nobody saves.
   * @throws NotFoundError, OrganizationSlugConflict, ValidationError, ScopeNotAllowed; MfaRequired and all that identity
   *   refuses a policy with; UnavailableError when identity cannot be asked
   */
  async update(caller: UserCaller, id: string, given: UpdateOrganizationDto): Promise<OrganizationView> {
    const { dto, security } = splitSecurity(given);
    const fields = Object.entries(dto)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => field);
    if (fields.length === 0 && security === undefined) throw new ValidationError('No field to change');
    if (caller.tenant.scope === 'organization' && fields.some((field) => field !== 'settings')) {
      throw new ScopeNotAllowed();
    }
    const policy = security === undefined ? null : await this.applySecurity(caller, id, dto, security);
    return this.tenants.transaction(caller, async (tx) => {
      if (fields.length > 0) await this.updateIn(tx, caller, id, dto, fields);
      if (policy) await this.copies.project(tx, policy);
      return this.view(tx, id);
    });
  }

  private async updateIn(
    tx: TenantTransaction,
    caller: UserCaller,
    id: string,
    dto: UpdateOrganizationDto,
    fields: string[],
  ): Promise<void> {
    const stored = await this.organizations.lock(tx, id);
    if (!stored) throw new NotFoundError('Organization');
    const row = await this.orSlugConflict(this.organizations.update(tx, id, changeOf(dto, stored.settings)));
    await this.tell(tx, caller, 'update', row, { fields });
    if (row.status !== stored.status) await this.outbox.publish(tx, organizationAccessChanged(row));
  }

  /** What is known to fail fails before identity is asked. */
  private async applySecurity(caller: UserCaller, id: string, dto: UpdateOrganizationDto, security: unknown) {
    await this.policies.assertProven(caller, id);
    const organization = await this.get(caller, id);
    if (dto.slug && (await this.organizations.hasSlug(this.tenants.reader(caller), organization, dto.slug))) {
      throw new OrganizationSlugConflict();
    }
    return this.policies.apply(caller, organization, security);
  }

  private async assertRoom(tx: TenantTransaction, caller: Caller, partnerId: string): Promise<void> {
    const partner = await this.partners.find(tx, partnerId);
    // A partner of which no fact has arrived yet is vouched for by its own member's session, not by a system caller.
    if (!partner && caller.tenant.scope === 'system') throw new PartnerAccessDenied();
    const cap = partner?.maxOrganizations ?? null;
    if (cap !== null && (await this.organizations.countOf(tx, partnerId)) >= cap) throw new OrganizationLimitReached();
  }

  private async freeSlug(tx: TenantTransaction, partnerId: string, name: string): Promise<string> {
    const wanted = slugFor(name);
    const taken = await takenSlugs(tx, partnerId, slugBases([wanted]));
    return freeSlug(wanted, (slug) => taken.has(slug));
  }

  private async orSlugConflict<T>(write: Promise<T>): Promise<T> {
    try {
      return await write;
    } catch (error) {
      if (isUniqueViolation(error, 'organization_slug_key')) throw new OrganizationSlugConflict();
      throw error;
    }
  }

  private async tell(
    tx: TenantTransaction,
    caller: Caller,
    what: 'create' | 'update',
    row: OrganizationRow,
    details: Record<string, unknown>,
  ): Promise<void> {
    const fact = what === 'create' ? 'organization.created' : 'organization.updated';
    await this.outbox.publish(tx, organizationMessage(fact, row, caller.actor));
    const { id, name, partnerId } = row;
    const resource = { type: 'organization', id, name, orgId: id, partnerId };
    await this.audit.record(tx, caller, `organization.${what}`, resource, details);
  }

  private async view(tx: TenantTransaction, id: string): Promise<OrganizationView> {
    const view = await this.organizations.find(tx, id);
    if (!view) throw new NotFoundError('Organization');
    return view;
  }
}

function changeOf(dto: UpdateOrganizationDto, settings: Record<string, unknown>): OrganizationChange {
  const change: OrganizationChange = {
    name: dto.name,
    slug: dto.slug,
    type: dto.type,
    status: dto.status,
    settings: dto.settings && mergeSettings(settings, dto.settings),
    contractStart: dto.contractStart,
    contractEnd: dto.contractEnd,
    billingContact: dto.billingContact && toBillingContact(dto.billingContact),
  };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

const toBillingContact = ({ name, email, phone }: BillingContactDto): BillingContact => ({
  name: name ?? null,
  email: email ?? null,
  phone: phone ?? null,
});
