import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { PartnerDirectory, TenantInactive, type DirectoryPartner } from '@rmm/access';
import type { Actor, DeviceEnrolled } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantContext, type TenantTransaction } from '@rmm/persistence';
import { hashKey, mintAgentToken } from '@rmm/secrets';
import { Clock, UnavailableError, ValidationError } from '@rmm/service-kit';
import { agentsChanged } from '../devices/device.events.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import { DeviceLimitExceeded } from './enrollment.errors.js';
import { EnrollmentRepository, type EnrollingDevice, type StoredDevice } from './enrollment.repository.js';
import type { Reservation } from './key-reservations.service.js';

export interface EnrollmentRequest {
  reservation: Reservation;
  reservationId: string;
  dto: EnrollDto;
  /** The token of the device that is enrolled again, or null. */
  oldToken: string | null;
}

export interface EnrolledDevice {
  agentId: string;
  deviceId: string;
  /** Returned once; stored as SHA-256. */
  authToken: string;
  orgId: string;
  siteId: string | null;
  /** True when an earlier enrollment of this agent created the device, so that this one uses no key. */
  isRepeated: boolean;
}

/**
 * Credentials releases a use 30 s after its reservation when no device exists. Reserving takes up to 3 s and a commit up
 * to 12 s; a slower enrollment must not create a device whose use may have been given to another agent.
 */
const MAX_ENROLLMENT_MS = 12_000;

/** Stores the device of an enrollment with its event and audit entry in one transaction. */
@Injectable()
export class DeviceEnrollmentService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly devices: EnrollmentRepository,
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /**
   * Gives a new token to the device that this agent enrolled a short time ago with the same key, hostname and serial
   * number, and whose reply was lost.
   * @returns null when there is no such device
   * @throws TenantInactive
   */
  async reissue({ reservation, dto }: Pick<EnrollmentRequest, 'reservation' | 'dto'>): Promise<EnrolledDevice | null> {
    const { orgId, partnerId } = reservation;
    const { key: authToken, keyHash: tokenHash } = mintAgentToken();
    await this.getActivePartner(partnerId);
    return this.tenants.transaction({ tenant: partnerContext(partnerId) }, async (tx) => {
      await this.assertOrganizationActive(tx, orgId);
      const stored = await this.findRepeated(tx, { reservation, tokenHash, dto });
      return stored && { ...toEnrolled(stored, orgId, authToken), isRepeated: true };
    });
  }

  /**
   * Creates the device, or keeps that of an old token or of a repeated enrollment.
   * @throws TenantInactive, DeviceLimitExceeded; ValidationError  for a site of another organization; UnavailableError
   *   when it takes so long that the reservation may have been released
   */
  async enroll({ reservation, reservationId, dto, oldToken }: EnrollmentRequest): Promise<EnrolledDevice> {
    const { orgId, partnerId } = reservation;
    const { key: authToken, keyHash: tokenHash } = mintAgentToken();
    const startedMs = this.clock.monotonicMs();
    const partner = await this.getActivePartner(partnerId);
    return this.tenants.transaction({ tenant: partnerContext(partnerId) }, async (tx) => {
      await this.assertOrganizationActive(tx, orgId);
      const repeated = oldToken ? null : await this.findRepeated(tx, { reservation, tokenHash, dto });
      if (repeated) return { ...toEnrolled(repeated, orgId, authToken), isRepeated: true };
      const siteId = await this.resolveSite(tx, reservation, dto.siteId ?? null);
      const existing = oldToken && (await this.devices.findByToken(tx, orgId, hashKey(oldToken)));
      const device = { reservation, reservationId, siteId, tokenHash, dto };
      const stored = existing
        ? await this.reenroll(tx, existing.id, device)
        : await this.create(tx, partner.maxDevices, device);
      if (this.clock.monotonicMs() - startedMs > MAX_ENROLLMENT_MS) throw new UnavailableError();
      return { ...toEnrolled(stored, orgId, authToken), isRepeated: false };
    });
  }

  private async getActivePartner(partnerId: string): Promise<DirectoryPartner> {
    const partner = await this.partners.find(partnerId);
    if (partner?.status !== 'active') throw new TenantInactive();
    return partner;
  }

  private async assertOrganizationActive(tx: TenantTransaction, orgId: string): Promise<void> {
    if (!(await this.devices.isOrganizationActive(tx, orgId))) throw new TenantInactive();
  }

  /** Returns the site of the key, else the requested one, else the only one of the organization, else null. */
  private async resolveSite(tx: TenantTransaction, key: Reservation, requestedId: string | null) {
    const { orgId, siteId: pinnedId } = key;
    if (pinnedId !== null) {
      if (await this.devices.hasSite(tx, orgId, pinnedId)) return pinnedId;
      throw ValidationError.forField('siteId', 'of the enrollment key does not exist any more');
    }
    if (requestedId === null) return this.devices.findOnlySiteId(tx, orgId);
    if (await this.devices.hasSite(tx, orgId, requestedId)) return requestedId;
    throw ValidationError.forField('siteId', 'is not a site of the organization');
  }

  private async findRepeated(
    tx: TenantTransaction,
    { reservation, tokenHash, dto }: Pick<EnrollingDevice, 'reservation' | 'tokenHash' | 'dto'>,
  ): Promise<StoredDevice | null> {
    const serialNumber = dto.hardwareInfo?.serialNumber;
    if (!serialNumber) return null;
    const { orgId, partnerId, enrollmentKeyId } = reservation;
    const { hostname, osType } = dto;
    const repeated = { orgId, enrollmentKeyId, hostname, serialNumber, tokenHash };
    const device = await this.devices.reissueToken(tx, repeated);
    if (!device) return null;
    const caller = { actor: { type: 'agent', id: device.agentId } as const, tenant: { partnerId, orgId } };
    const resource = { type: 'device', id: device.id, name: hostname };
    const details = { siteId: device.siteId, enrollmentKeyId, osType, reissued: true };
    await this.audit.record(tx, caller, 'device.enroll', resource, details);
    await this.outbox.publish(tx, agentsChanged({ deviceIds: [device.id] }, { partnerId, orgId }));
    return device;
  }

  private async reenroll(tx: TenantTransaction, id: string, device: EnrollingDevice): Promise<StoredDevice> {
    const stored = await this.devices.reenroll(tx, id, device);
    await this.publish(tx, stored, device);
    const { partnerId, orgId } = device.reservation;
    await this.outbox.publish(tx, agentsChanged({ deviceIds: [id] }, { partnerId, orgId }));
    return stored;
  }

  /**
   * The counter of the partner is checked twice: before anything is written, and exactly once the new device is counted,
   * which locks it. Messages come before the device, so that the lock is held for its last statements only.
   */
  private async create(tx: TenantTransaction, cap: number | null, device: EnrollingDevice): Promise<StoredDevice> {
    const { partnerId } = device.reservation;
    const assertAtMost = async (devices: number) => {
      if ((await this.counters.countDevices(tx, partnerId)) > devices) throw new DeviceLimitExceeded();
    };
    if (cap !== null) await assertAtMost(cap - 1);
    const agentId = randomUUID();
    const isNew = { id: device.reservationId, agentId, siteId: device.siteId, version: '1', isReenrolled: false };
    await this.publish(tx, isNew, device);
    const stored = await this.devices.create(tx, agentId, device);
    if (cap !== null) await assertAtMost(cap);
    return stored;
  }

  private async publish(
    tx: TenantTransaction,
    device: StoredDevice,
    { reservation, dto }: EnrollingDevice,
  ): Promise<void> {
    const { orgId, partnerId, enrollmentKeyId } = reservation;
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
    const details = { siteId, enrollmentKeyId, osType, reenrolled: device.isReenrolled };
    await this.audit.record(tx, { actor, tenant: { partnerId, orgId } }, 'device.enroll', resource, details);
  }
}

function toEnrolled({ agentId, id, siteId }: StoredDevice, orgId: string, authToken: string) {
  return { agentId, deviceId: id, authToken, orgId, siteId };
}

/** Returns the context of a whole partner: the key names the partner, and an enrollment has no caller. */
const partnerContext = (partnerId: string): TenantContext => ({
  scope: 'partner',
  partnerId,
  orgId: null,
  orgAccess: 'all',
  orgIds: [],
  userId: null,
});
