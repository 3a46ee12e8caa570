import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  PartnerAccessDenied,
  PartnerDirectory,
  ScopeNotAllowed,
  type Acting,
  type Caller,
  type DirectoryPartner,
  type UserCaller,
} from '@rmm/access';
import type { OrganizationSecurityState } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, ValidationError } from '@rmm/service-kit';
import { uniqueSlug } from '@rmm/validation';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import { resolvePartnerId } from '../partners/partner-scope.policy.js';
import { organizationsLock, PartnersRepository } from '../partners/partners.repository.js';
import type { CreateOrganizationDto } from './dto/create-organization.dto.js';
import type { ListOrganizationsDto } from './dto/list-organizations.dto.js';
import type { OrganizationDto, OwnOrganizationDto } from './dto/organization.dto.js';
import type { UpdateOrganizationDto } from './dto/update-organization.dto.js';
import { OrganizationSecurityRepository } from './organization-security.repository.js';
import { OrganizationSecurityService } from './organization-security.service.js';
import { mergeOrganizationSettings, splitSecurity } from './organization-settings.policy.js';
import { organizationSlug } from './organization-slug.js';
import type { Organization } from './organization.entity.js';
import { OrganizationLimitExceeded, OrganizationSlugConflict } from './organization.errors.js';
import { organizationAccessChanged, organizationEvents } from './organization.events.js';
import { toOrganizationDto } from './organization.mapper.js';
import { OrganizationsRepository, type OrganizationChanges } from './organizations.repository.js';

type VisibleOrganization = OrganizationDto | OwnOrganizationDto;

/** Lists, creates and changes organizations one by one; imports have a feature of their own. */
@Injectable()
export class OrganizationsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly organizations: OrganizationsRepository,
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly security: OrganizationSecurityService,
    private readonly policies: OrganizationSecurityRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws PartnerAccessDenied  for another partner's `partnerId`; InvalidCursor; ValidationError  for an order without index */
  async list(caller: Caller, query: ListOrganizationsDto): Promise<SortedPage<VisibleOrganization>> {
    const { search, status, partnerId, deleted } = query;
    if (partnerId !== undefined) resolvePartnerId(caller, partnerId);
    if (query.sort === 'name' && caller.tenant.scope === 'system' && partnerId === undefined) {
      throw ValidationError.forField('sort', 'needs partnerId in system scope');
    }
    const filter = { search, status, partnerId, deleted };
    const { rows, pagination } = await this.organizations.list(caller, filter, query);
    return { data: rows.map((row) => toOrganizationDto(caller, row)), pagination };
  }

  /** @throws NotFoundError */
  async get(caller: Caller, id: string): Promise<VisibleOrganization> {
    return toOrganizationDto(caller, await this.organizations.get(caller, id));
  }

  /**
   * Identity stores the security policy, where the request has one, before the organization exists: no user can access it
   * without.
   * @throws ValidationError, OrganizationSlugConflict, OrganizationLimitExceeded, PartnerAccessDenied; for a security policy
   *   also what `update` throws
   */
  async create(caller: UserCaller, request: CreateOrganizationDto): Promise<VisibleOrganization> {
    const { dto, security } = splitSecurity(request);
    assertContractPeriod(dto);
    const partnerId = resolvePartnerId(caller, dto.partnerId);
    const partner = await this.partners.find(partnerId);
    if (!partner) throw new PartnerAccessDenied();
    const changes = toChanges(dto, {});
    const id = randomUUID();
    if (security === undefined || security === null)
      return this.insert(caller, partner, { ...changes, id, name: dto.name });
    await this.security.assertMfa(caller, id);
    await this.assertCreatable(caller, partner, dto.slug);
    const policy = await this.security.apply(caller, { id, partnerId, name: dto.name }, security, { isNew: true });
    return this.insert(caller, partner, { ...changes, id, name: dto.name }, policy);
  }

  private insert(
    caller: UserCaller,
    partner: DirectoryPartner,
    given: NamedOrganization,
    policy: OrganizationSecurityState | null = null,
  ): Promise<VisibleOrganization> {
    return this.tenants.lockedTransaction(caller, organizationsLock(partner.partnerId), async (tx) => {
      const { id } = await this.add(tx, caller, partner, given);
      if (policy) await this.policies.save(tx, policy);
      return toOrganizationDto(caller, await this.organizations.get(tx, id));
    });
  }

  /**
   * Stores, publishes and audits a new organization in a transaction that has the `organizationsLock` of the partner.
   * @throws OrganizationSlugConflict, OrganizationLimitExceeded
   */
  async add(
    tx: TenantTransaction,
    acting: Acting,
    partner: DirectoryPartner,
    given: NamedOrganization,
  ): Promise<Organization> {
    const { partnerId } = partner;
    await this.assertBelowCap(tx, partner);
    const slug = given.slug ?? (await this.findFreeSlug(tx, partnerId, given.name));
    const organization = await rejectTakenSlug(this.organizations.create(tx, { ...given, partnerId, slug }));
    await this.outbox.publish(tx, organizationEvents('organization.created', organization, acting.actor));
    await this.audit.record(tx, acting, 'organization.create', toResource(organization), { slug });
    return organization;
  }

  /**
   * Identity stores the security policy, where the request has one, before anything else is stored: a policy that it
   * refuses leaves the organization unchanged.
   * @throws NotFoundError, RecordChanged, OrganizationSlugConflict, ValidationError, ScopeNotAllowed; MfaRequired and the refusals of
   *   identity for a security policy; UnavailableError when identity does not reply
   */
  async update(caller: UserCaller, id: string, request: UpdateOrganizationDto): Promise<VisibleOrganization> {
    const { dto, security } = splitSecurity(request);
    const fields = Object.entries(dto)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => field);
    if (fields.length === 0 && security === undefined) throw ValidationError.nothingToChange();
    if (caller.tenant.scope === 'organization' && fields.some((field) => field !== 'settings')) {
      throw new ScopeNotAllowed();
    }
    const policy = security === undefined ? null : await this.applySecurity(caller, id, dto, security);
    return this.tenants.transaction(caller, async (tx) => {
      if (policy === null) {
        await assertIfMatch(async () => toOrganizationDto(caller, await this.organizations.lockView(tx, id)));
      }
      if (fields.length > 0) await this.change(tx, caller, id, dto, fields);
      if (policy) await this.policies.save(tx, policy);
      return toOrganizationDto(caller, await this.organizations.get(tx, id));
    });
  }

  private async change(
    tx: TenantTransaction,
    caller: UserCaller,
    id: string,
    dto: UpdateOrganizationDto,
    fields: string[],
  ): Promise<void> {
    const before = await this.organizations.lock(tx, id);
    assertContractPeriod(dto, before);
    const after = await rejectTakenSlug(this.organizations.change(tx, id, toChanges(dto, before.settings)));
    await this.outbox.publish(tx, organizationEvents('organization.updated', after, caller.actor));
    await this.audit.record(tx, caller, 'organization.update', toResource(after), { fields });
    if (after.status !== before.status) await this.outbox.publish(tx, organizationAccessChanged(after));
  }

  /**
   * Checks everything that can fail here before identity stores the policy. Of concurrent requests with one tag, identity
   * refuses all but the first by the version of the policy.
   */
  private async applySecurity(
    caller: UserCaller,
    id: string,
    { slug }: UpdateOrganizationDto,
    security: unknown,
  ): Promise<OrganizationSecurityState> {
    await this.security.assertMfa(caller, id);
    let ifVersion: number | undefined;
    await assertIfMatch(async () => {
      ifVersion = await this.policies.findVersion(this.tenants.reader(caller), id);
      return toOrganizationDto(caller, await this.organizations.get(caller, id));
    });
    const organization = await this.organizations.get(caller, id);
    if (slug && (await this.organizations.isSlugTaken(caller, organization, slug)))
      throw new OrganizationSlugConflict();
    return this.security.apply(caller, organization, security, { ifVersion });
  }

  /** Checks what can fail before identity stores a policy; it is checked again under the lock. */
  private assertCreatable(caller: UserCaller, partner: DirectoryPartner, slug?: string): Promise<void> {
    return this.tenants.transaction(caller, async (tx) => {
      await this.assertBelowCap(tx, partner);
      const { partnerId } = partner;
      const taken = slug ? await this.organizations.listTakenSlugs(tx, partnerId, [slug]) : new Set<string>();
      if (slug && taken.has(slug)) throw new OrganizationSlugConflict();
    });
  }

  private async assertBelowCap(
    tx: TenantTransaction,
    { partnerId, maxOrganizations: cap }: DirectoryPartner,
  ): Promise<void> {
    if (cap !== null && (await this.counters.countOrganizations(tx, partnerId)) >= cap)
      throw new OrganizationLimitExceeded();
  }

  private async findFreeSlug(tx: TenantTransaction, partnerId: string, name: string): Promise<string> {
    const base = organizationSlug(name);
    const taken = await this.organizations.listTakenSlugs(tx, partnerId, [base]);
    return uniqueSlug(base, (slug) => taken.has(slug));
  }
}

type NamedOrganization = OrganizationChanges & { id?: string; name: string };

type ContractPeriod = { contractStart?: Date | null; contractEnd?: Date | null };

/** Checks the dates as they will be stored. @throws ValidationError when the contract ends before it starts */
function assertContractPeriod(dto: ContractPeriod, stored: ContractPeriod = {}): void {
  const { contractStart: start = stored.contractStart, contractEnd: end = stored.contractEnd } = dto;
  const isChanged = dto.contractStart !== undefined || dto.contractEnd !== undefined;
  if (isChanged && start && end && end < start) {
    throw ValidationError.forField('contractEnd', 'must not be before contractStart');
  }
}

async function rejectTakenSlug(write: Promise<Organization>): Promise<Organization> {
  try {
    return await write;
  } catch (error) {
    if (isUniqueViolation(error, 'organization_slug_key')) throw new OrganizationSlugConflict();
    throw error;
  }
}

const toResource = ({ id, name, partnerId }: Organization) => ({
  type: 'organization',
  id,
  name,
  orgId: id,
  partnerId,
});

function toChanges(dto: UpdateOrganizationDto, storedSettings: Record<string, unknown>): OrganizationChanges {
  const { name, slug, type, status, settings, contractStart, contractEnd, billingContact } = dto;
  return {
    name,
    slug,
    type,
    status,
    settings: settings && mergeOrganizationSettings(storedSettings, settings),
    contractStart,
    contractEnd,
    billingContact: billingContact && {
      name: billingContact.name ?? null,
      email: billingContact.email ?? null,
      phone: billingContact.phone ?? null,
    },
  };
}
