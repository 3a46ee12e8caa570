import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { tenantCondition, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';
import type { DeviceStatus } from '../device.entity.js';

/** The fields of a device that users change. */
export interface ChangeableFields {
  displayName: string | null;
  siteId: string | null;
  tags: string[];
  status: DeviceStatus;
}

/** A device locked until the transaction ends. */
export interface ChangedDevice extends ChangeableFields {
  id: string;
  orgId: string;
  partnerId: string;
  hostname: string;
  lastSeenAt: Date | null;
  groupIds: string[];
  /** A bigint as text. */
  version: string;
}

/** SQL: one statement locks the device with its state and reads its groups. */
const LOCK = `
  SELECT d.id, d.org_id AS "orgId", d.partner_id AS "partnerId", d.hostname, d.display_name AS "displayName",
         d.site_id AS "siteId", d.tags, s.status, s.last_seen_at AS "lastSeenAt", d.version,
         ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = d.id) AS "groupIds"
    FROM device d
    JOIN organization o ON o.id = d.org_id AND o.partner_id = d.partner_id AND ${ACTIVE_ORGANIZATION}
    JOIN device_state s ON s.device_id = d.id
   WHERE d.id = :deviceId AND `;

const LEAVE_GROUPS = `
  DELETE FROM device_group_member m USING device_group g
   WHERE m.device_id = :id AND g.id = m.group_id AND g.site_id IS NOT NULL AND g.site_id IS DISTINCT FROM :siteId::uuid`;

const CHANGE = `
  UPDATE device SET display_name = :displayName, site_id = :siteId, tags = :tags, version = version + 1 WHERE id = :id`;

/** Only devices that are online have an offline check. */
const CHANGE_STATE = `
  UPDATE device_state SET status = :status, offline_check_at = CASE WHEN :status = 'online' THEN offline_check_at END
   WHERE device_id = :id`;

@Injectable()
export class DeviceChangesRepository {
  /** @throws NotFoundError */
  async lock(tx: TenantTransaction, caller: Caller, deviceId: string): Promise<ChangedDevice> {
    const tenant = tenantCondition(caller, 'organization', 'd');
    const params = { ...tenant.params, deviceId };
    const [device] = await tx.query<ChangedDevice>(`${LOCK}${tenant.sql} FOR NO KEY UPDATE OF d, s`, params);
    if (!device) throw new NotFoundError('Device');
    return device;
  }

  /** Stores the fields. A device that changes its site leaves the groups of other sites; counters follow by triggers. */
  async change(tx: TenantTransaction, id: string, { status, ...fields }: ChangeableFields): Promise<void> {
    await tx.queryAll([
      { sql: LEAVE_GROUPS, params: { id, siteId: fields.siteId } },
      { sql: CHANGE_STATE, params: { id, status } },
      { sql: CHANGE, params: { id, ...fields } },
    ]);
  }
}
