import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { tenantCondition, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';

/** A device locked until the transaction ends. */
export interface LockedDevice {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  hostname: string;
  groupIds: string[];
  /** A bigint as text. */
  version: string;
  isDecommissioned: boolean;
}

/** SQL: one statement locks the device and reads its groups. Devices of inactive organizations cannot be accessed. */
const LOCK = `
  SELECT d.id, d.org_id AS "orgId", d.partner_id AS "partnerId", d.site_id AS "siteId", d.hostname, d.version,
         d.decommissioned_at IS NOT NULL AS "isDecommissioned",
         ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = d.id) AS "groupIds"
    FROM device d JOIN organization o ON o.id = d.org_id AND o.partner_id = d.partner_id AND ${ACTIVE_ORGANIZATION}
   WHERE d.id = :deviceId AND `;

@Injectable()
export class DecommissioningRepository {
  /** @throws NotFoundError */
  async lock(tx: TenantTransaction, caller: Caller, deviceId: string): Promise<LockedDevice> {
    const tenant = tenantCondition(caller, 'organization', 'd');
    const params = { ...tenant.params, deviceId };
    const [device] = await tx.query<LockedDevice>(`${LOCK}${tenant.sql} FOR NO KEY UPDATE OF d`, params);
    if (!device) throw new NotFoundError('Device');
    return device;
  }

  /**
   * Ends the tokens and the group memberships of locked devices. Their states and the counters follow by triggers; from
   * here to its end the transaction holds the lock of the partner's device counter.
   */
  async decommission(tx: TenantTransaction, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await tx.queryAll([
      { sql: 'DELETE FROM device_group_member WHERE device_id = ANY (:ids::uuid[])', params: { ids } },
      { sql: 'DELETE FROM agent_token_rotation WHERE device_id = ANY (:ids::uuid[])', params: { ids } },
      { sql: 'DELETE FROM device_provision WHERE device_id = ANY (:ids::uuid[])', params: { ids } },
      {
        sql: `UPDATE device SET decommissioned_at = now(), agent_token_hash = NULL, version = version + 1
               WHERE id = ANY (:ids::uuid[])`,
        params: { ids },
      },
    ]);
  }
}
