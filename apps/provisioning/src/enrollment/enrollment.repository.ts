import { Injectable } from '@nestjs/common';
import { TenantDatabase, TenantRepository, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { Device } from '../devices/device.entity.js';
import { ACTIVE_ORGANIZATION } from '../organizations/organizations.repository.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import type { Reservation } from './key-reservations.service.js';

export interface StoredDevice {
  id: string;
  agentId: string;
  siteId: string | null;
  /** A bigint as text. */
  version: string;
  /** True when an existing record was kept. */
  isReenrolled: boolean;
}

export interface EnrollingDevice {
  reservation: Reservation;
  reservationId: string;
  siteId: string | null;
  tokenHash: Buffer;
  dto: EnrollDto;
}

const isActive = { sql: 'device.decommissionedAt IS NULL' };

/** SQL: only the reported columns of the state change. */
const SAVE_STATE = `
  INSERT INTO device_state AS s (device_id, partner_id, org_id, status, agent_version)
  VALUES (:id, :partnerId, :orgId, 'offline', :agentVersion)
  ON CONFLICT (device_id) DO UPDATE SET agent_version = excluded.agent_version`;

const SAVE_HARDWARE = `
  INSERT INTO device_hardware AS h (device_id, partner_id, org_id, hardware)
  VALUES (:id, :partnerId, :orgId, :hardware)
  ON CONFLICT (device_id) DO UPDATE SET hardware = excluded.hardware WHERE h.hardware <> excluded.hardware`;

/** Queries of an enrollment. They run in the context of the partner, so each names the organization. */
@Injectable()
export class EnrollmentRepository extends TenantRepository<Device> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Device, () => new NotFoundError('Device'));
  }

  async isOrganizationActive(tx: TenantTransaction, orgId: string): Promise<boolean> {
    const rows = await tx.query(`SELECT 1 AS one FROM organization o WHERE o.id = :orgId AND ${ACTIVE_ORGANIZATION}`, {
      orgId,
    });
    return rows.length > 0;
  }

  async hasSite(tx: TenantTransaction, orgId: string, siteId: string): Promise<boolean> {
    const rows = await tx.query(
      'SELECT 1 AS one FROM site WHERE id = :siteId AND org_id = :orgId AND deleted_at IS NULL',
      { orgId, siteId },
    );
    return rows.length > 0;
  }

  /** Returns null when the organization has no site or several. */
  async findOnlySiteId(tx: TenantTransaction, orgId: string): Promise<string | null> {
    const rows = await tx.query<{ id: string }>(
      'SELECT id FROM site WHERE org_id = :orgId AND deleted_at IS NULL LIMIT 2',
      { orgId },
    );
    return rows.length === 1 ? rows[0].id : null;
  }

  /** Returns the active device of the organization with this token, locked; null when there is none. */
  findByToken(tx: TenantTransaction, orgId: string, agentTokenHash: Buffer): Promise<{ id: string } | null> {
    return this.findOne(tx, {
      where: { orgId, agentTokenHash },
      conditions: [isActive],
      columns: ['id'],
      lock: 'FOR UPDATE',
    });
  }

  /**
   * Creates a device with the id of the reservation; a decommissioned device of the same hostname is renamed. From here
   * to its end the transaction holds the lock of the partner's device counter.
   */
  async create(tx: TenantTransaction, agentId: string, enrolling: EnrollingDevice): Promise<StoredDevice> {
    const { orgId, partnerId } = enrolling.reservation;
    await tx.query(
      `UPDATE device SET hostname = left(hostname, 240) || '~' || left(id::text, 8), version = version + 1
        WHERE org_id = :orgId AND hostname_key = lower(:hostname) AND decommissioned_at IS NOT NULL`,
      { orgId, hostname: enrolling.dto.hostname },
    );
    const device = await this.insert(tx, {
      ...propertiesOf(enrolling),
      id: enrolling.reservationId,
      agentId,
      partnerId,
      orgId,
      siteId: enrolling.siteId,
      deviceRole: enrolling.dto.deviceRole,
      enrolledAt: () => 'now()',
    });
    await this.saveReported(tx, device.id, enrolling);
    return { ...device, isReenrolled: false };
  }

  /** Keeps the record with a new token and the reported state; absent site, role and hardware stay as they are. */
  async reenroll(tx: TenantTransaction, id: string, enrolling: EnrollingDevice): Promise<StoredDevice> {
    const { siteId, dto } = enrolling;
    const device = await this.updateOne(
      tx,
      { id },
      {
        ...propertiesOf(enrolling),
        siteId: siteId ?? undefined,
        deviceRole: dto.deviceRole ?? undefined,
        enrolledAt: () => 'now()',
        version: () => 'version + 1',
      },
    );
    await this.saveReported(tx, id, enrolling);
    return { ...device, isReenrolled: true };
  }

  private async saveReported(
    tx: TenantTransaction,
    id: string,
    { reservation: { orgId, partnerId }, dto }: EnrollingDevice,
  ): Promise<void> {
    const owner = { id, partnerId, orgId };
    const hardware = dto.hardwareInfo ? JSON.stringify(dto.hardwareInfo) : null;
    await tx.queryAll([
      { sql: SAVE_STATE, params: { ...owner, agentVersion: dto.agentVersion ?? null } },
      ...(hardware === null ? [] : [{ sql: SAVE_HARDWARE, params: { ...owner, hardware } }]),
    ]);
  }
}

const propertiesOf = ({ reservation, reservationId, tokenHash, dto }: EnrollingDevice) => ({
  enrollmentReservationId: reservationId,
  agentTokenHash: tokenHash,
  enrollmentKeyId: reservation.enrollmentKeyId,
  hostname: dto.hostname,
  osType: dto.osType,
  osVersion: dto.osVersion,
  architecture: dto.architecture,
  isVirtual: dto.isVirtual ?? null,
  virtualizationPlatform: dto.virtualizationPlatform ?? null,
});
