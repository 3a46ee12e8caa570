import { TenantInactive } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import type { Actor, DeviceEnrolled } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantContext, type TenantTransaction } from '@rmm/persistence';
import { hashKey, mintAgentToken } from '@rmm/secrets';
import { Clock, UnavailableError, ValidationError } from '@rmm/service-kit';
import { lockDevices } from '../partners/partner-locks.js';
import { PartnersRepository, type KnownPartner } from '../partners/partners.repository.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import { DeviceLimitReached } from './enrollment.errors.js';
import { EnrollmentRepository, type DeviceRow } from './enrollment.repository.js';
import type { Reservation } from './key-uses.js';

export interface EnrolledDevice {
  agentId: string;
  deviceId: string;
  /** Told once; stored as SHA-256. */
  authToken: string;
  orgId: string;
  siteId: string | null;
}

/**
 * Credentials takes a use back 30 s after it was reserved where no device exists by then. Reserving takes 3 s at most and
 * a commit 12 s; what is slower than this must not make a device whose use somebody else has meanwhile.
 */
const DEVICE_WITHIN_MS = 12_000;

/** The second half of an enrollment: the device, its event and its audit row, or none of them. */
@Injectable()
export class DeviceEnrollment {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly enrollments: EnrollmentRepository,
    private readonly partners: PartnersRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws TenantInactive, DeviceLimitReached; ValidationError  for a site of another organization; UnavailableError
   *   when it takes so long that the reservation may be given up
   */
  enroll(
    reservation: Reservation,
    reservationId: string,
    dto: EnrollDto,
    reenrollmentToken: string | null,
  ): Promise<EnrolledDevice> {
    const { orgId, partnerId } = reservation;
    const { key: authToken, keyHash: tokenHash } = mintAgentToken();
    const startedMs = this.clock.nowMs();
    return this.tenants.transaction({ tenant: wholePartner(partnerId) }, async (tx) => {
      const partner = await this.partners.find(tx, partnerId);
      await this.assertActive(tx, partner, orgId);
      const siteId = await this.siteFor(tx, reservation, dto.siteId ?? null);
      const known = reenrollmentToken && (await this.enrollments.findByToken(tx, orgId, hashKey(reenrollmentToken)));
      if (!known) await this.assertRoom(tx, partner, partnerId);
      const given = { reservation, reservationId, siteId, tokenHash, dto };
      const device = known
        ? await this.enrollments.renew(tx, known.id, given)
        : await this.enrollments.insert(tx, given);
      await this.tell(tx, device, reservation, dto);
      if (this.clock.nowMs() - startedMs > DEVICE_WITHIN_MS) throw new UnavailableError();
      return { agentId: device.agentId, deviceId: device.id, authToken, orgId, siteId: device.siteId };
    });
  }

  private async assertActive(tx: TenantTransaction, partner: KnownPartner | null, orgId: string): Promise<void> {
    if (partner && partner.status !== 'active') throw new TenantInactive();
    if (!(await this.enrollments.isOrganizationLive(tx, orgId))) throw new TenantInactive();
  }

  /** The key's site, else the sent one, else the organization's only one, else none. @see CONTRACT.md 4.10.8 */
  private async siteFor(tx: TenantTransaction, key: Reservation, sent: string | null): Promise<string | null> {
    const { orgId, siteId: pinned } = key;
    if (pinned !== null && (await this.enrollments.hasSite(tx, orgId, pinned))) return pinned;
    if (sent === null) return this.enrollments.findOnlySite(tx, orgId);
    if (await this.enrollments.hasSite(tx, orgId, sent)) return sent;
    throw ValidationError.of('siteId', 'is not a site of the organization');
  }

  private async assertRoom(tx: TenantTransaction, partner: KnownPartner | null, partnerId: string): Promise<void> {
    const cap = partner?.maxDevices ?? null;
    if (cap === null) return;
    await lockDevices(tx, partnerId);
    if ((await this.enrollments.countDevices(tx, partnerId)) >= cap) throw new DeviceLimitReached();
  }

  private async tell(tx: TenantTransaction, device: DeviceRow, key: Reservation, dto: EnrollDto): Promise<void> {
    const { orgId, partnerId, enrollmentKeyId } = key;
    const { id: deviceId, siteId } = device;
    const { hostname, osType, agentVersion = null } = dto;
    const actor: Actor = { type: 'agent', id: device.agentId };
    const data: DeviceEnrolled = { deviceId, hostname, osType, siteId, enrollmentKeyId, agentVersion };
    await this.outbox.publish(tx, {
      stream: 'events',
      type: 'device.enrolled',
      aggregateId: deviceId,
      aggregateVersion: Number(device.version),
      partnerId,
      orgId,
      actor,
      data,
    });
    const resource = { type: 'device', id: deviceId, name: hostname };
    const details = { siteId, enrollmentKeyId, osType, reenrolled: device.renewed };
    await this.audit.record(tx, { actor, tenant: { partnerId, orgId } }, 'device.enroll', resource, details);
  }
}

/** The key names the partner: nothing outside it is visible to the enrollment. */
const wholePartner = (partnerId: string): TenantContext => ({
  scope: 'partner',
  partnerId,
  orgId: null,
  orgAccess: 'all',
  orgIds: [],
  userId: null,
});
