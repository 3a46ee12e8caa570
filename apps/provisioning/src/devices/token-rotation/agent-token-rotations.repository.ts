import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { tenantCondition, type TenantTransaction, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';

/** A device locked until the transaction ends. */
export interface RotatingDevice {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  groupIds: string[];
  hostname: string;
  isDecommissioned: boolean;
  hasToken: boolean;
  /** The end of the present token by a rotation; null when none runs. */
  expiresAt: Date | null;
  isExpired: boolean;
}

/** SQL: one statement locks the device and reads its groups and its rotation. */
const LOCK = `
  SELECT d.id, d.org_id AS "orgId", d.partner_id AS "partnerId", d.site_id AS "siteId", d.hostname,
         d.decommissioned_at IS NOT NULL AS "isDecommissioned", d.agent_token_hash IS NOT NULL AS "hasToken",
         r.expires_at AS "expiresAt", coalesce(r.expires_at <= now(), false) AS "isExpired",
         ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = d.id) AS "groupIds"
    FROM device d
    JOIN organization o ON o.id = d.org_id AND o.partner_id = d.partner_id AND ${ACTIVE_ORGANIZATION}
    LEFT JOIN agent_token_rotation r ON r.device_id = d.id
   WHERE d.id = :deviceId AND `;

const OFFER = `
  UPDATE agent_token_rotation SET next_token_hash = :nextTokenHash, offered_at = now()
   WHERE device_id = :deviceId AND expires_at > now()
     AND (offered_at IS NULL OR offered_at <= now() - make_interval(secs => :repeatSeconds::integer))
  RETURNING 1 AS one`;

/** Locks the device before the rotation, as requests do. */
const PROMOTE = `
  WITH locked AS (
    SELECT d.id FROM device d JOIN agent_token_rotation r ON r.device_id = d.id
     WHERE r.next_token_hash = :nextTokenHash AND d.decommissioned_at IS NULL FOR NO KEY UPDATE OF d),
  ended AS (
    DELETE FROM agent_token_rotation r USING locked
     WHERE r.device_id = locked.id AND r.next_token_hash = :nextTokenHash RETURNING r.device_id)
  UPDATE device d SET agent_token_hash = :nextTokenHash FROM ended WHERE d.id = ended.device_id
  RETURNING d.id AS "deviceId", d.org_id AS "orgId", d.partner_id AS "partnerId"`;

@Injectable()
export class AgentTokenRotationsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @throws NotFoundError */
  async lockDevice(tx: TenantTransaction, caller: Caller, deviceId: string): Promise<RotatingDevice> {
    const tenant = tenantCondition(caller, 'organization', 'd');
    const params = { ...tenant.params, deviceId };
    const [device] = await tx.query<RotatingDevice>(`${LOCK}${tenant.sql} FOR NO KEY UPDATE OF d`, params);
    if (!device) throw new NotFoundError('Device');
    return device;
  }

  /** Starts a rotation of a locked device. @returns when the present token ends */
  async start(tx: TenantTransaction, { id, partnerId, orgId }: RotatingDevice, hours: number): Promise<Date> {
    const [row] = await tx.query<{ expiresAt: Date }>(
      `INSERT INTO agent_token_rotation (device_id, partner_id, org_id, expires_at)
       VALUES (:id, :partnerId, :orgId, now() + make_interval(hours => :hours::integer))
       RETURNING expires_at AS "expiresAt"`,
      { id, partnerId, orgId, hours },
    );
    return row.expiresAt;
  }

  /**
   * Stores the token that the agent is offered, in place of one that it was offered some time ago and has not used.
   * @returns false when no rotation runs, or when an offer was made a moment ago
   */
  async offer(
    tx: TenantTransaction,
    offered: { deviceId: string; nextTokenHash: Buffer; repeatSeconds: number },
  ): Promise<boolean> {
    return (await tx.query(OFFER, offered)).length > 0;
  }

  /** Returns whether an agent was offered this token. Uses the worker login: the tenant is not known before. */
  async isOffered(nextTokenHash: Buffer): Promise<boolean> {
    const rows = await this.worker.query(
      'SELECT 1 AS one FROM agent_token_rotation WHERE next_token_hash = :nextTokenHash',
      { nextTokenHash },
    );
    return rows.length > 0;
  }

  /** Makes an offered token the token of its device and ends the former one. @returns null when another call did */
  async promote(
    tx: WorkerTransaction,
    nextTokenHash: Buffer,
  ): Promise<{ deviceId: string; orgId: string; partnerId: string } | null> {
    const [device] = await tx.query<{ deviceId: string; orgId: string; partnerId: string }>(PROMOTE, { nextTokenHash });
    return device ?? null;
  }
}
