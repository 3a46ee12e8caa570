import { Injectable } from '@nestjs/common';
import type { AgentRecord, AgentSource } from '@rmm/access';
import { WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';

export interface ReportedHeartbeat {
  agentVersion: string | null;
  osVersion: string | null;
  /** JSON text. */
  metrics: string | null;
}

/** A heartbeat and the device that sent it, by its token. */
export interface AgentHeartbeat extends ReportedHeartbeat {
  deviceId: string;
  orgId: string;
}

export interface StoredHeartbeat {
  hostname: string;
  agentVersion: string | null;
  version: string;
  /** True when the device was offline or pending before. */
  cameOnline: boolean;
  hasNewAgentVersion: boolean;
  /** True when commands may wait for the agent. */
  hasCommands: boolean;
}

/**
 * Stores the heartbeats of devices whose status and versions stay as they are. Changes no indexed column, so that the
 * updates are heap-only. A device in maintenance or updating keeps its status. A row that another transaction has locked is
 * left out, so that one device cannot delay the heartbeats of the others.
 */
const STORE_UNCHANGED = `
  WITH unchanged AS (
    SELECT s.device_id, r.metrics
      FROM unnest(:deviceIds::uuid[], :orgIds::uuid[], :agentVersions::text[], :osVersions::text[], :metrics::text[])
             AS r(device_id, org_id, agent_version, os_version, metrics)
      JOIN device_state s ON s.device_id = r.device_id AND s.org_id = r.org_id
      JOIN device d ON d.id = r.device_id
     WHERE s.status IN ('online', 'maintenance', 'updating')
       AND (r.agent_version IS NULL OR s.agent_version = r.agent_version)
       AND (r.os_version IS NULL OR d.os_version = r.os_version)
       FOR NO KEY UPDATE OF s SKIP LOCKED)
  UPDATE device_state s SET last_seen_at = now(), metrics = coalesce(u.metrics::jsonb, s.metrics)
    FROM unchanged u WHERE s.device_id = u.device_id
  RETURNING s.device_id AS "deviceId", s.has_commands AS "hasCommands"`;

/** Stores a heartbeat that may change status or versions; the version of the device rises with a published change only. */
const STORE_CHANGED = `
  WITH before AS (
    SELECT d.id, s.status IN ('offline', 'pending') AS comes_online,
           s.agent_version IS NOT NULL AND :agentVersion::text IS NOT NULL AND s.agent_version <> :agentVersion AS new_version
      FROM device d JOIN device_state s ON s.device_id = d.id
     WHERE d.id = :deviceId AND d.decommissioned_at IS NULL FOR NO KEY UPDATE),
  state AS (
    UPDATE device_state s SET
      last_seen_at = now(), agent_version = coalesce(:agentVersion, s.agent_version),
      metrics = coalesce(:metrics::jsonb, s.metrics),
      status = CASE WHEN before.comes_online THEN 'online' ELSE s.status END,
      offline_check_at = CASE WHEN before.comes_online THEN now() + make_interval(secs => :offlineAfterSeconds::integer)
                              ELSE s.offline_check_at END
    FROM before WHERE s.device_id = before.id
    RETURNING s.agent_version, s.has_commands)
  UPDATE device d SET
    os_version = coalesce(:osVersion, d.os_version),
    version = d.version + before.comes_online::int + before.new_version::int
  FROM before, state WHERE d.id = before.id
  RETURNING d.hostname, state.agent_version AS "agentVersion", d.version, before.comes_online AS "cameOnline",
            before.new_version AS "hasNewAgentVersion", state.has_commands AS "hasCommands"`;

@Injectable()
export class AgentsRepository implements AgentSource {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Returns the agent with a token. Null for an unknown token, one that ended with its rotation, a decommissioned device
   * and a deleted organization. Uses the worker login: the tenant is not known before.
   */
  async findByTokenHash(tokenHash: Buffer): Promise<AgentRecord | null> {
    const [record] = await this.worker.query<AgentRecord>(
      `SELECT d.agent_id AS "agentId", d.id AS "deviceId", d.org_id AS "orgId", d.partner_id AS "partnerId",
              d.site_id AS "siteId", r.device_id IS NOT NULL AS "rotatesToken"
         FROM device d
         JOIN organization o ON o.id = d.org_id
         LEFT JOIN agent_token_rotation r ON r.device_id = d.id
        WHERE d.agent_token_hash = :tokenHash AND d.decommissioned_at IS NULL AND o.deleted_at IS NULL
          AND (r.device_id IS NULL OR r.expires_at > now())`,
      { tokenHash },
    );
    return record ?? null;
  }

  /**
   * Stores heartbeats of any tenants in one statement. Uses the worker login: a fleet sends thousands a second, and a
   * transaction for each would take most of the connections.
   * @returns whether commands may wait, by device whose heartbeat is stored; the others change status or version, or are
   *   locked or decommissioned
   */
  async storeUnchanged(heartbeats: readonly AgentHeartbeat[]): Promise<Map<string, boolean>> {
    const rows = await this.worker.query<{ deviceId: string; hasCommands: boolean }>(STORE_UNCHANGED, {
      deviceIds: heartbeats.map(({ deviceId }) => deviceId),
      orgIds: heartbeats.map(({ orgId }) => orgId),
      agentVersions: heartbeats.map(({ agentVersion }) => agentVersion),
      osVersions: heartbeats.map(({ osVersion }) => osVersion),
      metrics: heartbeats.map(({ metrics }) => metrics),
    });
    return new Map(rows.map(({ deviceId, hasCommands }) => [deviceId, hasCommands]));
  }

  /** Stores any heartbeat. @throws UnauthenticatedError  for a decommissioned device: its token has ended */
  async storeChanged(
    tx: TenantTransaction,
    deviceId: string,
    heartbeat: ReportedHeartbeat,
    offlineAfterSeconds: number,
  ): Promise<StoredHeartbeat> {
    const params = { deviceId, ...heartbeat, offlineAfterSeconds };
    const [stored] = await tx.query<StoredHeartbeat>(STORE_CHANGED, params);
    if (!stored) throw new UnauthenticatedError();
    return stored;
  }
}
