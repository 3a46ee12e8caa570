import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import type { UserCaller } from '@rmm/access';
import type { Actor } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase, type TenantTransaction, type WorkerTransaction } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { isTimeZone, toPage, toSlug, uniqueSlug, type Paged } from '@rmm/validation';
import { AccessChangesService } from '../access/access-changes.service.js';
import { InvitationLinksService } from '../invitations/invitation-links.service.js';
import type { SecuritySettings } from '../mfa/mfa.policy.js';
import { SecurityPoliciesService } from '../security-policy/security-policies.service.js';
import type { PolicyChange } from '../security-policy/security.policy.js';
import type { CreatePartnerDto } from './dto/create-partner.dto.js';
import type { ListPartnersDto } from './dto/list-partners.dto.js';
import type { CreatedPartnerDto, PartnerDto, PartnerInviteDto } from './dto/partner.dto.js';
import type { UpdatePartnerDto } from './dto/update-partner.dto.js';
import { assertPartnerSettings, maxEnrollmentTtl, mergePartnerSettings } from './partner-settings.js';
import type { Partner } from './partner.entity.js';
import { toPartnerDto, toPartnerState } from './partner.mapper.js';
import { PartnersRepository, type CreatedPartner, type NewPartner } from './partners.repository.js';

export interface PartnerToProvision extends Omit<NewPartner, 'slug'> {
  /** Derived from the name when absent. */
  slug?: string;
  /** True for a registration: provisioning creates the first organization and site. */
  createsFirstOrganization: boolean;
  actor: Actor;
}

export interface ProvisionedPartner extends CreatedPartner {
  /** The partner's own copy of the Partner Admin role. */
  adminRoleId: string;
}

/** A partner before and after a change. */
interface Change {
  before: Partner;
  after: Partner;
}

const SLUG_ATTEMPTS = 5;
const SLUG = { maxLength: 60, fallback: 'partner' };

/** Partners: all of them for system scope, its own for a partner. */
@Injectable()
export class PartnersService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly partners: PartnersRepository,
    private readonly links: InvitationLinksService,
    private readonly policies: SecurityPoliciesService,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly accessChanges: AccessChangesService,
  ) {}

  async list(caller: UserCaller, query: ListPartnersDto): Promise<Paged<PartnerDto>> {
    const { rows, ...counted } = await this.partners.list(caller, query);
    return toPage(query, counted, rows.map(toPartnerDto));
  }

  /** @throws NotFoundError also for a partner the caller cannot see */
  async get(caller: UserCaller, id: string): Promise<PartnerDto> {
    return toPartnerDto(await this.partners.get(caller, id));
  }

  /** Creates a partner and invites its first administrator. */
  async create(caller: UserCaller, dto: CreatePartnerDto): Promise<CreatedPartnerDto> {
    assertTimeZone(dto.timezone);
    const { id, invite } = await this.provisionWithAdmin(caller, dto);
    return { ...(await this.get(caller, id)), invite };
  }

  /**
   * Updates a partner, all fields or none. `settings` merges per key, null removes a key. `settings.security` needs a
   * session with a factor and may lock no user out. @see docs/reference/mfa-and-policies.md
   * @throws NotFoundError, ValidationError, MfaRequired, MfaNoMethodAvailable, MfaPolicyWouldLockOutUsers,
   *   IpAllowlistWouldLockOutCaller
   */
  async update(caller: UserCaller, id: string, dto: UpdatePartnerDto): Promise<PartnerDto> {
    if (Object.keys(dto).length === 0) throw ValidationError.forField('body', 'names no field to change');
    assertTimeZone(dto.timezone);
    if (dto.settings) assertPartnerSettings(dto.settings);
    const { security } = dto.settings ?? {};
    const saved =
      security === undefined
        ? await this.tenants.transaction(caller, (tx) => this.updateIn(tx, caller, id, dto))
        : await this.policies.changePartnerPolicy(caller, id, security, (tx, policy) =>
            this.updateIn(tx, caller, id, dto, policy),
          );
    return toPartnerDto(saved);
  }

  /** Creates a partner with its own Partner Admin role, and publishes `partner.created`. */
  async provision(tx: WorkerTransaction, partner: PartnerToProvision): Promise<ProvisionedPartner> {
    const created = await this.insertWithSlug(tx, partner);
    const adminRoleId = await this.partners.copyAdminRole(tx, created.id);
    await this.outbox.publish(tx, {
      stream: 'internal',
      type: 'partner.created',
      aggregateId: created.id,
      aggregateVersion: 1,
      partnerId: created.id,
      orgId: null,
      actor: partner.actor,
      data: {
        partnerId: created.id,
        name: created.name,
        slug: created.slug,
        status: created.status,
        maxOrganizations: partner.maxOrganizations ?? null,
        maxDevices: partner.maxDevices ?? null,
        timezone: partner.timezone ?? 'UTC',
        settings: {},
        version: 1,
        createFirstOrganization: partner.createsFirstOrganization,
      },
    });
    return { ...created, adminRoleId };
  }

  /**
   * Creates a partner and invites its first administrator, in one transaction. Under the worker login: the partner is
   * no caller's tenant yet, and its copy of the Partner Admin role is a system role.
   */
  private async provisionWithAdmin(
    caller: UserCaller,
    { admin, ...partner }: CreatePartnerDto,
  ): Promise<{ id: string; invite: PartnerInviteDto }> {
    const mayMail = await this.links.mayMail(admin.email);
    const created = await this.links.withAccount(admin.email, (existing) =>
      this.worker.transaction(async (tx) => {
        const { id, name, slug, adminRoleId } = await this.provision(tx, {
          ...partner,
          createsFirstOrganization: false,
          actor: caller.actor,
        });
        await this.audit.record(tx, caller, 'partner.create', { type: 'partner', id, name, partnerId: id }, { slug });
        const invitation = {
          scope: { kind: 'partner', partnerId: id },
          email: admin.email,
          name: admin.name,
          roleId: adminRoleId,
          tenantName: name,
          invitedBy: caller.userId,
          orgAccess: 'all',
          siteIds: null,
          deviceGroupIds: null,
        } as const;
        return {
          id,
          sent: await this.links.invite(tx, caller, existing, { ...invitation, orgIds: [] }, mayMail),
        };
      }),
    );
    const { id, sent } = created;
    return { id, invite: { userId: sent.userId, ...(await this.links.toDelivery(caller, sent)) } };
  }

  private async insertWithSlug(tx: WorkerTransaction, partner: PartnerToProvision): Promise<CreatedPartner> {
    await this.partners.lockSlugs(tx);
    const wanted = partner.slug ?? toSlug(partner.name, SLUG);
    for (let attempt = 0; attempt < SLUG_ATTEMPTS; attempt += 1) {
      const taken = new Set(await this.partners.listTakenSlugs(tx, wanted));
      const slug = uniqueSlug(wanted, (candidate) => taken.has(candidate));
      const created = await this.partners.insertUnlessTaken(tx, { ...partner, slug });
      if (created) return created;
    }
    throw new Error(`No free slug was found for the partner in ${SLUG_ATTEMPTS} attempts`);
  }

  private async updateIn(
    tx: TenantTransaction,
    caller: UserCaller,
    id: string,
    dto: UpdatePartnerDto,
    policy?: PolicyChange | null,
  ): Promise<Partner> {
    const before = await this.partners.lock(tx, id);
    const settings = mergePartnerSettings(before.settings, dto.settings, policy);
    const after = { ...before, ...dto, settings, version: before.version + 1 };
    if (policy !== undefined) await this.checkPolicy(tx, caller, { before, after });
    const stored = await this.partners.store(tx, after);
    await this.publish(tx, caller, { before, after: stored });
    await this.record(tx, caller, { before, after: stored }, dto);
    return stored;
  }

  private async checkPolicy(tx: TenantTransaction, caller: UserCaller, { before, after }: Change): Promise<void> {
    const policies = { before: securityOf(before), after: securityOf(after) };
    if (isDeepStrictEqual(policies.before, policies.after)) return;
    await this.policies.acceptPartnerPolicy(tx, caller, resourceOf(after), policies);
  }

  private async publish(tx: TenantTransaction, caller: UserCaller, { before, after }: Change): Promise<void> {
    await this.outbox.publish(tx, {
      stream: 'internal',
      type: 'partner.updated',
      aggregateId: after.id,
      aggregateVersion: after.version,
      partnerId: after.id,
      orgId: null,
      actor: caller.actor,
      data: toPartnerState(after),
    });
    const reason = before.status === after.status ? 'partner_limits' : `partner is ${after.status}`;
    if (changesAccess({ before, after })) await this.accessChanges.publish(tx, { partnerIds: [after.id], reason });
  }

  private async record(tx: TenantTransaction, caller: UserCaller, { before, after }: Change, dto: UpdatePartnerDto) {
    const fields = Object.keys(dto).filter((field) => field !== 'settings' || hasMoreThanSecurity(dto.settings));
    if (fields.length === 0) return;
    const status = before.status === after.status ? {} : { status: { from: before.status, to: after.status } };
    await this.audit.record(tx, caller, 'partner.update', resourceOf(after), { fields: fields.sort(), ...status });
  }
}

const securityOf = ({ settings }: Partner): SecuritySettings => settings.security ?? {};

const resourceOf = ({ id, name }: Partner) => ({ type: 'partner', id, name, partnerId: id, orgId: null });

const hasMoreThanSecurity = (settings: object | undefined): boolean =>
  Object.keys(settings ?? {}).some((key) => key !== 'security');

/** Returns true when other services must read the partner again at once: its status, a limit or its policy changed. */
const changesAccess = ({ before, after }: Change): boolean => !isDeepStrictEqual(limitsOf(before), limitsOf(after));

const limitsOf = (partner: Partner): object => ({
  status: partner.status,
  maxOrganizations: partner.maxOrganizations,
  maxDevices: partner.maxDevices,
  maxTtlMinutes: maxEnrollmentTtl(partner.settings),
  security: securityOf(partner),
});

/** @throws ValidationError unless the field is absent or an IANA time zone */
function assertTimeZone(timezone: string | undefined): void {
  if (timezone !== undefined && !isTimeZone(timezone)) {
    throw ValidationError.forField('timezone', 'must be an IANA time zone');
  }
}
