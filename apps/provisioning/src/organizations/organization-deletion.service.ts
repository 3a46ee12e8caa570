import { Injectable } from '@nestjs/common';
import { PartnerAccessDenied, PartnerDirectory, type Caller, type DirectoryPartner } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, type DoneDto } from '@rmm/service-kit';
import { uniqueSlug } from '@rmm/validation';
import { agentsChanged } from '../devices/device.events.js';
import { DeviceLimitExceeded } from '../enrollment/enrollment.errors.js';
import { organizationsLock, PartnersRepository } from '../partners/partners.repository.js';
import type { OrganizationDto, OwnOrganizationDto } from './dto/organization.dto.js';
import type { Organization } from './organization.entity.js';
import { OrganizationLimitExceeded } from './organization.errors.js';
import { organizationAccessChanged, organizationEvents } from './organization.events.js';
import { toOrganizationDto } from './organization.mapper.js';
import { OrganizationsRepository, RESTORE_DAYS } from './organizations.repository.js';

const DAY_MS = 86_400_000;

/** Deletes organizations softly, and restores them until they are erased. */
@Injectable()
export class OrganizationDeletionService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly organizations: OrganizationsRepository,
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Deletes an organization: its members, keys, agents and webhooks are refused at once in every service, and it no longer
   * counts for the caps of its partner. @throws NotFoundError, RecordChanged
   */
  delete(caller: Caller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      await assertIfMatch(async () => toOrganizationDto(caller, await this.organizations.lockView(tx, id)));
      const deleted = await this.organizations.markDeleted(tx, id);
      await this.outbox.publish(tx, [
        ...organizationEvents('organization.deleted', deleted, caller.actor),
        organizationAccessChanged(deleted),
        agentsChanged({ deviceIds: [], orgIds: [id] }, { orgId: id, partnerId: deleted.partnerId }),
      ]);
      const restorableUntil = new Date(Number(deleted.deletedAt) + RESTORE_DAYS * DAY_MS).toISOString();
      const { slug } = deleted;
      await this.audit.record(tx, caller, 'organization.delete', toResource(deleted), { slug, restorableUntil });
      return { success: true };
    });
  }

  /**
   * Makes a deleted organization live again, with its former status. Its slug gets a number when it is taken by now.
   * @throws NotFoundError  also when the time to restore it has passed; OrganizationLimitExceeded, DeviceLimitExceeded
   */
  async restore(caller: Caller, id: string): Promise<OrganizationDto | OwnOrganizationDto> {
    const { partnerId } = await this.organizations.getDeleted(caller, id);
    const partner = await this.partners.find(partnerId);
    if (!partner) throw new PartnerAccessDenied();
    return this.tenants.lockedTransaction(caller, organizationsLock(partnerId), async (tx) => {
      const { slug: former } = await this.organizations.getDeleted(tx, id);
      const taken = await this.organizations.listTakenSlugs(tx, partnerId, [former]);
      const slug = uniqueSlug(former, (candidate) => taken.has(candidate));
      const restored = await this.organizations.restore(tx, id, slug);
      const organization = await this.organizations.get(tx, id);
      await this.assertWithinCaps(tx, partner, organization.deviceCount);
      await this.outbox.publish(tx, [
        ...organizationEvents('organization.updated', restored, caller.actor),
        organizationAccessChanged(restored),
      ]);
      await this.audit.record(tx, caller, 'organization.reactivate', toResource(restored), { slug });
      return toOrganizationDto(caller, organization);
    });
  }

  /** Checks the counters after the organization was counted again, which locked them: no other transaction changes them. */
  private async assertWithinCaps(tx: TenantTransaction, partner: DirectoryPartner, devices: number): Promise<void> {
    const { partnerId, maxOrganizations, maxDevices } = partner;
    if (maxOrganizations !== null && (await this.counters.countOrganizations(tx, partnerId)) > maxOrganizations) {
      throw new OrganizationLimitExceeded();
    }
    if (maxDevices !== null && devices > 0 && (await this.counters.countDevices(tx, partnerId)) > maxDevices) {
      throw new DeviceLimitExceeded();
    }
  }
}

const toResource = ({ id, name, partnerId }: Organization) => ({
  type: 'organization',
  id,
  name,
  orgId: id,
  partnerId,
});
