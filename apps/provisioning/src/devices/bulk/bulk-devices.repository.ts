import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { tenantCondition, type TenantTransaction } from '@rmm/persistence';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';
import type { DeviceGroup } from '../groups/device-group.entity.js';

/** A device locked until the transaction ends. */
export interface BulkDevice {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  hostname: string;
  tags: string[];
  groupIds: string[];
  /** A bigint as text. */
  version: string;
  isDecommissioned: boolean;
}

/** SQL: locks by id, as every change of several devices does, so that two of them cannot wait for each other. */
const LOCK = `
  SELECT d.id, d.org_id AS "orgId", d.partner_id AS "partnerId", d.site_id AS "siteId", d.hostname, d.tags, d.version,
         d.decommissioned_at IS NOT NULL AS "isDecommissioned",
         ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = d.id) AS "groupIds"
    FROM device d JOIN organization o ON o.id = d.org_id AND o.partner_id = d.partner_id AND ${ACTIVE_ORGANIZATION}
   WHERE d.id = ANY (:deviceIds::uuid[]) AND `;

const SET_TAGS = `
  UPDATE device d SET tags = c.tags, version = d.version + 1
    FROM jsonb_to_recordset(:changes::jsonb) AS c(id uuid, tags text[]) WHERE d.id = c.id`;

const LEAVE_GROUPS_OF_OTHER_SITES = `
  DELETE FROM device_group_member m USING device_group g
   WHERE m.device_id = ANY (:deviceIds::uuid[]) AND g.id = m.group_id AND g.site_id IS NOT NULL
     AND g.site_id IS DISTINCT FROM :siteId::uuid`;

const SET_SITE = `
  UPDATE device SET site_id = :siteId, version = version + 1 WHERE id = ANY (:deviceIds::uuid[])`;

/** Statements for many devices at once. */
@Injectable()
export class BulkDevicesRepository {
  /** Locks the devices that exist and that the caller's tenant has. */
  lock(tx: TenantTransaction, caller: Caller, deviceIds: readonly string[]): Promise<BulkDevice[]> {
    const tenant = tenantCondition(caller, 'organization', 'd');
    const sql = `${LOCK}${tenant.sql} ORDER BY d.id FOR NO KEY UPDATE OF d`;
    return tx.query<BulkDevice>(sql, { ...tenant.params, deviceIds });
  }

  /** Stores the tags of locked devices. */
  async setTags(tx: TenantTransaction, changes: readonly { id: string; tags: string[] }[]): Promise<void> {
    if (changes.length === 0) return;
    await tx.query(SET_TAGS, { changes: JSON.stringify(changes) });
  }

  /** Moves locked devices, which leave the groups of other sites. Counters follow by triggers. */
  async setSite(tx: TenantTransaction, deviceIds: readonly string[], siteId: string | null): Promise<void> {
    if (deviceIds.length === 0) return;
    await tx.queryAll([
      { sql: LEAVE_GROUPS_OF_OTHER_SITES, params: { deviceIds, siteId } },
      { sql: SET_SITE, params: { deviceIds, siteId } },
    ]);
  }

  async addToGroup(tx: TenantTransaction, group: DeviceGroup, deviceIds: readonly string[]): Promise<void> {
    const { id: groupId, orgId, partnerId } = group;
    await tx.query(
      `INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
       SELECT :groupId, unnest(:deviceIds::uuid[]), :partnerId, :orgId`,
      { groupId, deviceIds, partnerId, orgId },
    );
  }

  async removeFromGroup(tx: TenantTransaction, groupId: string, deviceIds: readonly string[]): Promise<void> {
    await tx.query(
      'DELETE FROM device_group_member WHERE group_id = :groupId AND device_id = ANY (:deviceIds::uuid[])',
      {
        groupId,
        deviceIds,
      },
    );
  }
}
