import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { tenantCondition, TenantDatabase, TenantRepository, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';
import type { OsType } from '../device.entity.js';
import { DeviceProvision } from './device-provision.entity.js';

export interface NewPendingDevice {
  id: string;
  partnerId: string;
  orgId: string;
  siteId: string;
  hostname: string;
  osType: OsType;
  displayName: string | null;
}

/** A pending device with a token, locked until the transaction ends. */
export interface LockedProvision {
  deviceId: string;
  agentId: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  groupIds: string[];
  hostname: string;
  osType: OsType;
  /** A bigint as text. */
  version: string;
  isExpired: boolean;
}

/** SQL: the lock of the device, which every other change takes first, protects its token too. */
const LOCK = `
  SELECT p.device_id AS "deviceId", d.agent_id AS "agentId", d.org_id AS "orgId", d.partner_id AS "partnerId",
         d.site_id AS "siteId", d.hostname, d.os_type AS "osType", d.version, p.expires_at <= now() AS "isExpired",
         ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = d.id) AS "groupIds"
    FROM device_provision p
    JOIN device d ON d.id = p.device_id AND d.decommissioned_at IS NULL
    JOIN organization o ON o.id = d.org_id AND o.partner_id = d.partner_id AND ${ACTIVE_ORGANIZATION}
   WHERE p.token_hash = :tokenHash AND `;

const CREATE_DEVICE = `
  INSERT INTO device (id, partner_id, org_id, site_id, hostname, os_type, display_name)
  VALUES (:id, :partnerId, :orgId, :siteId, :hostname, :osType, :displayName)`;

const CREATE_STATE = `
  INSERT INTO device_state (device_id, partner_id, org_id, status) VALUES (:id, :partnerId, :orgId, 'pending')`;

@Injectable()
export class DeviceProvisionsRepository extends TenantRepository<DeviceProvision> {
  constructor(tenants: TenantDatabase) {
    super(tenants, DeviceProvision, () => new NotFoundError('Token'));
  }

  /** Returns whether a device in use of the organization has the hostname, in any case of its letters. */
  async isHostnameTaken(tx: TenantTransaction, orgId: string, hostname: string): Promise<boolean> {
    const rows = await tx.query(
      `SELECT 1 AS one FROM device
        WHERE org_id = :orgId AND hostname_key = lower(:hostname) AND decommissioned_at IS NULL LIMIT 1`,
      { orgId, hostname },
    );
    return rows.length > 0;
  }

  /**
   * Creates a pending device; a decommissioned device of the same hostname is renamed. From here to its end the
   * transaction holds the lock of the partner's device counter.
   */
  async createDevice(tx: TenantTransaction, device: NewPendingDevice): Promise<void> {
    const { orgId, hostname, id, partnerId } = device;
    await tx.queryAll([
      {
        sql: `UPDATE device SET hostname = left(hostname, 240) || '~' || left(id::text, 8), version = version + 1
               WHERE org_id = :orgId AND hostname_key = lower(:hostname) AND decommissioned_at IS NOT NULL`,
        params: { orgId, hostname },
      },
      { sql: CREATE_DEVICE, params: { ...device } },
      { sql: CREATE_STATE, params: { id, partnerId, orgId } },
    ]);
  }

  /** Stores the token of a device, which is valid for so many minutes. @returns when it expires */
  async create(
    tx: TenantTransaction,
    provision: Pick<DeviceProvision, 'deviceId' | 'partnerId' | 'orgId' | 'tokenHash'>,
    minutes: number,
  ): Promise<Date> {
    const [row] = await tx.query<{ expiresAt: Date }>(
      `INSERT INTO device_provision (device_id, partner_id, org_id, token_hash, expires_at)
       VALUES (:deviceId, :partnerId, :orgId, :tokenHash, now() + make_interval(mins => :minutes::integer))
       RETURNING expires_at AS "expiresAt"`,
      { ...provision, minutes },
    );
    return row.expiresAt;
  }

  /** Locks the device of a token. @throws NotFoundError  for a used, unknown and foreign one alike */
  async lock(tx: TenantTransaction, caller: Caller, tokenHash: Buffer): Promise<LockedProvision> {
    const tenant = tenantCondition(caller, 'organization', 'd');
    const params = { ...tenant.params, tokenHash };
    const [provision] = await tx.query<LockedProvision>(`${LOCK}${tenant.sql} FOR NO KEY UPDATE OF d`, params);
    return this.found(provision);
  }

  /** Gives the device its agent token and ends the one-time token. @throws NotFoundError  when another request used it */
  async redeem(tx: TenantTransaction, deviceId: string, agentTokenHash: Buffer): Promise<void> {
    this.found((await this.delete(tx, { deviceId })) > 0 || null);
    await tx.query(
      `UPDATE device SET agent_token_hash = :agentTokenHash, enrolled_at = now(), version = version + 1
        WHERE id = :deviceId`,
      { deviceId, agentTokenHash },
    );
  }
}
