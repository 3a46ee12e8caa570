import { Injectable } from '@nestjs/common';
import type { AgentRecord, AgentSource } from '@rmm/access';
import { WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';

export interface ReportedHeartbeat {
  agentVersion: string | null;
  osVersion: string | null;
  /** JSON text. */
  metrics: string | null;
}

export interface StoredHeartbeat {
  hostname: string;
  agentVersion: string | null;
  version: string;
  /** True when the device was offline or pending before. */
  cameOnline: boolean;
  hasNewAgentVersion: boolean;
}

/**
 * One statement, since heartbeats are the most frequent write. A device in maintenance or updating keeps its status; the
 * version rises with a published change only.
 */
const STORE_HEARTBEAT = `
  WITH before AS (
    SELECT id, status IN ('offline', 'pending') AS comes_online,
           agent_version IS NOT NULL AND :agentVersion::text IS NOT NULL AND agent_version <> :agentVersion AS new_version
      FROM device WHERE id = :deviceId AND status <> 'decommissioned' FOR UPDATE)
  UPDATE device d SET
    last_seen_at = now(), agent_version = coalesce(:agentVersion, agent_version),
    os_version = coalesce(:osVersion, os_version), metrics = coalesce(:metrics::jsonb, metrics),
    status = CASE WHEN before.comes_online THEN 'online' ELSE status END,
    version = version + before.comes_online::int + before.new_version::int
  FROM before WHERE d.id = before.id
  RETURNING d.hostname, d.agent_version AS "agentVersion", d.version, before.comes_online AS "cameOnline",
            before.new_version AS "hasNewAgentVersion"`;

@Injectable()
export class AgentsRepository implements AgentSource {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Returns the agent with a token. Null for an unknown token, a decommissioned device and a deleted organization. Uses
   * the worker login: the tenant is not known before.
   */
  async findByTokenHash(tokenHash: Buffer): Promise<AgentRecord | null> {
    const [record] = await this.worker.query<AgentRecord>(
      `SELECT d.agent_id AS "agentId", d.id AS "deviceId", d.org_id AS "orgId", d.partner_id AS "partnerId",
              d.site_id AS "siteId"
         FROM device d JOIN organization o ON o.id = d.org_id
        WHERE d.agent_token_hash = :tokenHash AND d.status <> 'decommissioned' AND o.deleted_at IS NULL`,
      { tokenHash },
    );
    return record ?? null;
  }

  /** @throws NotFoundError  for a decommissioned device */
  async storeHeartbeat(
    tx: TenantTransaction,
    deviceId: string,
    heartbeat: ReportedHeartbeat,
  ): Promise<StoredHeartbeat> {
    const [stored] = await tx.query<StoredHeartbeat>(STORE_HEARTBEAT, { deviceId, ...heartbeat });
    if (!stored) throw new NotFoundError('Agent');
    return stored;
  }
}
