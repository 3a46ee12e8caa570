import { Injectable } from '@nestjs/common';
import { TenantDatabase, TenantRepository, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { toInventoryReport } from '../agents/reports/inventory-report.js';
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

/** A token that is being replaced proves the identity until it ends, and so does the next one. */
const hasToken = (tokenHash: Buffer) => ({
  sql: `(device.agentTokenHash = :tokenHash
           AND NOT EXISTS (SELECT FROM agent_token_rotation r WHERE r.device_id = device.id AND r.expires_at <= now()))
        OR device.id = (SELECT r.device_id FROM agent_token_rotation r WHERE r.next_token_hash = :tokenHash)`,
  params: { tokenHash },
});

/** SQL: only the reported columns of the state change. */
const SAVE_STATE = `
  INSERT INTO device_state AS s (device_id, partner_id, org_id, status, agent_version)
  VALUES (:id, :partnerId, :orgId, 'offline', :agentVersion)
  ON CONFLICT (device_id) DO UPDATE SET agent_version = excluded.agent_version`;

const SAVE_HARDWARE = `
  INSERT INTO device_hardware AS h (device_id, partner_id, org_id, hardware, content_hash)
  VALUES (:id, :partnerId, :orgId, :hardware, :hash)
  ON CONFLICT (device_id) DO UPDATE SET hardware = excluded.hardware, content_hash = excluded.content_hash
   WHERE h.content_hash IS DISTINCT FROM excluded.content_hash`;

/** An agent that enrolls again because the reply with its token was lost. */
export interface RepeatedEnrollment {
  orgId: string;
  enrollmentKeyId: string;
  hostname: string;
  serialNumber: string;
  tokenHash: Buffer;
}

const REPEAT_MINUTES = 15;

/** SQL: the device is found by its hardware and state. One that has reported has its token. */
const REISSUE_TOKEN = `
  UPDATE device SET agent_token_hash = :tokenHash WHERE id = (
    SELECT d.id FROM device d
    JOIN device_hardware h ON h.device_id = d.id
    JOIN device_state s ON s.device_id = d.id
    WHERE d.org_id = :orgId AND d.hostname_key = lower(:hostname) AND d.enrollment_key_id = :enrollmentKeyId
      AND h.serial_number = :serialNumber AND d.decommissioned_at IS NULL AND s.last_seen_at IS NULL
      AND d.enrolled_at > now() - make_interval(mins => :minutes)
    ORDER BY d.enrolled_at DESC LIMIT 1 FOR NO KEY UPDATE OF d)
  RETURNING id, agent_id AS "agentId", site_id AS "siteId", version`;

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

  /** Checks a site, which is then not deleted before the transaction ends. */
  async hasSite(tx: TenantTransaction, orgId: string, siteId: string): Promise<boolean> {
    const rows = await tx.query(
      'SELECT 1 AS one FROM site WHERE id = :siteId AND org_id = :orgId AND deleted_at IS NULL FOR KEY SHARE',
      { orgId, siteId },
    );
    return rows.length > 0;
  }

  /** Returns null when the organization has no site or several. The site is not deleted before the transaction ends. */
  async findOnlySiteId(tx: TenantTransaction, orgId: string): Promise<string | null> {
    const rows = await tx.query<{ id: string }>(
      'SELECT id FROM site WHERE org_id = :orgId AND deleted_at IS NULL LIMIT 2 FOR KEY SHARE',
      { orgId },
    );
    return rows.length === 1 ? rows[0].id : null;
  }

  /** Returns the active device of the organization with this token, locked; null when there is none. */
  findByToken(tx: TenantTransaction, orgId: string, tokenHash: Buffer): Promise<{ id: string } | null> {
    return this.findOne(tx, {
      where: { orgId },
      conditions: [isActive, hasToken(tokenHash)],
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

  /** Keeps the record with a new token, which ends a rotation, and the reported state; absent site, role and hardware stay as they are. */
  async reenroll(tx: TenantTransaction, id: string, enrolling: EnrollingDevice): Promise<StoredDevice> {
    const { siteId, dto } = enrolling;
    await tx.query('DELETE FROM agent_token_rotation WHERE device_id = :id', { id });
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

  /**
   * Replaces the token of the device that the same agent enrolled with the same key a short time ago. Enrollments of one
   * agent wait for each other, so that a repeat that overtakes the first attempt finds its device.
   * @returns null when there is no such device, or when it has reported since
   */
  async reissueToken(tx: TenantTransaction, repeated: RepeatedEnrollment): Promise<StoredDevice | null> {
    const { enrollmentKeyId, hostname, serialNumber } = repeated;
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended(:agent, 0))', {
      agent: JSON.stringify(['rmm.provisioning.enrollment', enrollmentKeyId, hostname.toLowerCase(), serialNumber]),
    });
    const [device] = await tx.query<StoredDevice>(REISSUE_TOKEN, { ...repeated, minutes: REPEAT_MINUTES });
    return device ? { ...device, isReenrolled: true } : null;
  }

  private async saveReported(
    tx: TenantTransaction,
    id: string,
    { reservation: { orgId, partnerId }, dto }: EnrollingDevice,
  ): Promise<void> {
    const owner = { id, partnerId, orgId };
    const report = dto.hardwareInfo ? toInventoryReport('hardware', { hardware: dto.hardwareInfo }) : null;
    await tx.queryAll([
      { sql: SAVE_STATE, params: { ...owner, agentVersion: dto.agentVersion ?? null } },
      ...(report ? [{ sql: SAVE_HARDWARE, params: { ...owner, ...report.columns, hash: report.hash } }] : []),
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
