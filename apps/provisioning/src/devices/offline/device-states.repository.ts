import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';

/** A device that has gone offline. */
export interface SilentDevice {
  deviceId: string;
  orgId: string;
  partnerId: string;
  hostname: string;
  displayName: string | null;
  lastSeenAt: Date | null;
  /** A bigint as text. */
  version: string;
}

/**
 * Looks at devices whose deadline has passed. One with a heartbeat since gets a new deadline, any other that is online goes
 * offline; one that is in maintenance or updating keeps its status and has no deadline. Rows that another replica or a heartbeat has locked are left to the next sweep, so that each device goes offline once and the
 * sweep never waits.
 */
const CLAIM_SILENT = `
  WITH due AS (
    SELECT s.device_id, s.last_seen_at, s.status = 'online' AND (s.last_seen_at IS NULL
             OR s.last_seen_at <= now() - make_interval(secs => :offlineAfterSeconds::integer)) AS is_silent
      FROM device_state s WHERE s.offline_check_at <= now()
     ORDER BY s.offline_check_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED),
  silent AS (
    UPDATE device d SET version = d.version + 1
      FROM (SELECT locked.id, due.last_seen_at FROM due JOIN device locked ON locked.id = due.device_id
             WHERE due.is_silent FOR NO KEY UPDATE OF locked SKIP LOCKED) l
     WHERE d.id = l.id
    RETURNING d.id AS "deviceId", d.org_id AS "orgId", d.partner_id AS "partnerId", d.hostname,
              d.display_name AS "displayName", l.last_seen_at AS "lastSeenAt", d.version),
  checked AS (
    UPDATE device_state s
       SET status = CASE WHEN due.is_silent THEN 'offline' ELSE s.status END,
           offline_check_at = CASE WHEN due.is_silent OR s.status <> 'online' THEN NULL
                                   ELSE due.last_seen_at + make_interval(secs => :offlineAfterSeconds::integer) END
      FROM due
     WHERE s.device_id = due.device_id
       AND (NOT due.is_silent OR due.device_id IN (SELECT "deviceId" FROM silent)))
  SELECT (SELECT count(*)::int FROM due) AS checked, silent.* FROM (SELECT) AS one LEFT JOIN silent ON true`;

/** Changes of device states without a caller. Uses the worker login, across tenants. */
@Injectable()
export class DeviceStatesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Sets devices without a heartbeat offline, up to a number of checked ones. */
  async claimSilent(
    offlineAfterSeconds: number,
    limit: number,
    sql: SqlExecutor = this.worker,
  ): Promise<{ checked: number; silent: SilentDevice[] }> {
    type Row = { checked: number } & (SilentDevice | { deviceId: null });
    const rows = await sql.query<Row>(CLAIM_SILENT, { offlineAfterSeconds, limit });
    const silent = rows.filter((row): row is { checked: number } & SilentDevice => row.deviceId !== null);
    return { checked: rows[0]?.checked ?? 0, silent };
  }
}
