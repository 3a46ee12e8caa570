import { Injectable } from '@nestjs/common';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import { LIVE } from '../organizations/reachable.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import type { Reservation } from './key-uses.js';

export interface DeviceRow {
  id: string;
  agentId: string;
  siteId: string | null;
  /** bigint: text from the database. */
  version: string;
  /** True when a record that existed was kept. */
  renewed: boolean;
}

export interface GivenDevice {
  reservation: Reservation;
  reservationId: string;
  siteId: string | null;
  tokenHash: Buffer;
  dto: EnrollDto;
}

const ROW = `id, agent_id as "agentId", site_id as "siteId", version`;

@Injectable()
export class EnrollmentRepository {
  async isOrganizationLive(tx: SqlExecutor, orgId: string): Promise<boolean> {
    const rows = await tx.query(`select 1 as live from organization o where o.id = $1 and ${LIVE}`, [orgId]);
    return rows.length > 0;
  }

  async hasSite(tx: SqlExecutor, orgId: string, siteId: string): Promise<boolean> {
    const rows = await tx.query('select 1 as found from site where id = $2 and org_id = $1 and deleted_at is null', [
      orgId,
      siteId,
    ]);
    return rows.length > 0;
  }

  /** Null where there is none, or more than one. */
  async findOnlySite(tx: SqlExecutor, orgId: string): Promise<string | null> {
    const rows = await tx.query<{ id: string }>(
      'select id from site where org_id = $1 and deleted_at is null limit 2',
      [orgId],
    );
    return rows.length === 1 ? rows[0].id : null;
  }

  async countDevices(tx: SqlExecutor, partnerId: string): Promise<number> {
    const [row] = await tx.query<{ total: number }>(
      `select count(*)::int as total from device where partner_id = $1 and status <> 'decommissioned'`,
      [partnerId],
    );
    return row.total;
  }

  /** The device of the organization that this token still opens, locked. */
  async findByToken(tx: SqlExecutor, orgId: string, tokenHash: Buffer): Promise<{ id: string } | null> {
    const [row] = await tx.query<{ id: string }>(
      `select id from device where agent_token_hash = $1 and org_id = $2 and status <> 'decommissioned' for update`,
      [tokenHash, orgId],
    );
    return row ?? null;
  }

  /** A fresh device under the reservation's id; a decommissioned one of its name steps aside. */
  async insert(tx: TenantTransaction, given: GivenDevice): Promise<DeviceRow> {
    const { orgId, partnerId } = given.reservation;
    await tx.query(
      `update device set hostname = left(hostname, 240) || '~' || left(id::text, 8), version = version + 1
        where org_id = $1 and lower(hostname) = lower($2) and status = 'decommissioned'`,
      [orgId, given.dto.hostname],
    );
    const [row] = await tx.query<DeviceRow>(
      `insert into device (id, partner_id, org_id, status, enrolled_at, enrollment_reservation_id, site_id,
         agent_token_hash, enrollment_key_id, hostname, os_type, os_version, architecture, agent_version, device_role,
         is_virtual, virtualization_platform, hardware)
       values ($1, $14, $15, 'offline', now(), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
       returning ${ROW}, false as renewed`,
      [...values(given), partnerId, orgId],
    );
    return row;
  }

  /** The record is kept: a new token, and what the agent says of its machine now. */
  async renew(tx: TenantTransaction, deviceId: string, given: GivenDevice): Promise<DeviceRow> {
    const [row] = await tx.query<DeviceRow>(
      `update device set enrolled_at = now(), enrollment_reservation_id = $1, site_id = coalesce($2, site_id),
         agent_token_hash = $3, enrollment_key_id = $4, hostname = $5, os_type = $6, os_version = $7, architecture = $8,
         agent_version = $9, device_role = coalesce($10, device_role), is_virtual = $11, virtualization_platform = $12,
         hardware = coalesce($13, hardware), version = version + 1
       where id = $14 returning ${ROW}, true as renewed`,
      [...values(given), deviceId],
    );
    return row;
  }
}

function values({ reservation, reservationId, siteId, tokenHash, dto }: GivenDevice): unknown[] {
  return [
    reservationId,
    siteId,
    tokenHash,
    reservation.enrollmentKeyId,
    dto.hostname,
    dto.osType,
    dto.osVersion,
    dto.architecture,
    dto.agentVersion ?? null,
    dto.deviceRole ?? null,
    dto.isVirtual ?? null,
    dto.virtualizationPlatform ?? null,
    dto.hardwareInfo ?? null,
  ];
}
