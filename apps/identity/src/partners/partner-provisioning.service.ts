import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { type Actor } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { toSlug, uniqueSlug } from '@rmm/validation';
import { InvitationLinkPolicy } from '../invitations/invitation-link.policy.js';
import { InvitationLinksService } from '../invitations/invitation-links.service.js';
import { InvitationSenderService } from '../invitations/invitation-sender.service.js';
import { InvitationsRepository } from '../invitations/invitations.repository.js';
import type { CreatePartnerDto } from './dto/create-partner.dto.js';
import type { PartnerInviteDto } from './dto/partner.dto.js';
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

const SLUG_ATTEMPTS = 5;
const SLUG = { maxLength: 60, fallback: 'partner' };

/** Creates partners. */
@Injectable()
export class PartnerProvisioningService {
  constructor(
    private readonly partners: PartnersRepository,
    private readonly invitations: InvitationSenderService,
    private readonly invitedMembers: InvitationsRepository,
    private readonly links: InvitationLinksService,
    private readonly linkPolicy: InvitationLinkPolicy,
    private readonly worker: WorkerDatabase,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Creates a partner and invites its first administrator, in one transaction. Under the worker login: the partner is
   * no caller's tenant yet, and its copy of the Partner Admin role is a system role.
   */
  async provisionWithAdmin(
    caller: UserCaller,
    { admin, ...partner }: CreatePartnerDto,
  ): Promise<{ id: string; invite: PartnerInviteDto }> {
    const mayMail = await this.links.mayMail(admin.email);
    const created = await this.invitedMembers.withAccount(admin.email, (existing) =>
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
          sent: await this.invitations.invite(tx, caller, existing, { ...invitation, orgIds: [] }, mayMail),
        };
      }),
    );
    const { id, sent } = created;
    return { id, invite: { userId: sent.userId, ...(await this.linkPolicy.toDelivery(caller, sent)) } };
  }

  /** Creates a partner with its own Partner Admin role, and publishes `partner.created`. */
  async provision(tx: WorkerTransaction, partner: PartnerToProvision): Promise<ProvisionedPartner> {
    const created = await this.insert(tx, partner);
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

  private async insert(tx: WorkerTransaction, partner: PartnerToProvision): Promise<CreatedPartner> {
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
}
