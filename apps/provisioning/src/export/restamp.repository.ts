import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import type { ExportRestamp } from './export-restamp.entity.js';

/** The tables with export stamps whose rows are visible only with their organization, and their keys. */
const STAMPED_TABLES = {
  site: 'id',
  device: 'id',
  device_group: 'id',
  device_hardware: 'device_id',
  device_disk: 'device_id',
  device_network: 'device_id',
  device_software: 'device_id',
  device_posture: 'device_id',
  export_record: 'record_key',
} as const;

/** Records without a stamp since the first claim of the request. */
const UNSTAMPED = 'org_id = :orgId AND updated_at < :startedAt::timestamptz';

type ClaimedRestamp = Pick<ExportRestamp, 'id' | 'orgId'> & { startedAt: Date };

/**
 * Stamps the records of organizations that are visible again, so that incremental exports show them. Uses the worker
 * login: there is no caller.
 */
@Injectable()
export class RestampRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Returns the ids of the oldest requests, oldest first. */
  async listRequests(limit: number): Promise<string[]> {
    const rows = await this.worker.query<Pick<ExportRestamp, 'id'>>(
      'SELECT id FROM export_restamp ORDER BY id LIMIT :limit',
      { limit },
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Stamps the next records of a request. Skips records that other transactions have locked: to wait for them while it
   * locks others could be a deadlock.
   * @returns false when the request has ended, another replica works on it, or the rest of its records is locked
   */
  stampRecords(requestId: string, limit: number): Promise<boolean> {
    return this.worker.transaction(async (tx) => {
      const request = await this.claim(tx, requestId);
      if (!request) return false;
      for (const [table, key] of Object.entries(STAMPED_TABLES)) {
        if ((await this.stamp(tx, table, key, request, limit)) > 0) return true;
      }
      for (const table of Object.keys(STAMPED_TABLES)) {
        if (await this.hasUnstamped(tx, table, request)) return false;
      }
      await tx.query('DELETE FROM export_restamp WHERE id = :id', { id: request.id });
      return false;
    });
  }

  /** Records stamped after the first claim need no other stamp: the organization was visible by then. */
  private async claim(tx: SqlExecutor, id: string): Promise<ClaimedRestamp | undefined> {
    const [request] = await tx.query<ClaimedRestamp>(
      `UPDATE export_restamp SET started_at = coalesce(started_at, clock_timestamp())
        WHERE id = (SELECT id FROM export_restamp WHERE id = :id FOR UPDATE SKIP LOCKED)
       RETURNING id, org_id AS "orgId", started_at AS "startedAt"`,
      { id },
    );
    return request;
  }

  private async stamp(
    tx: SqlExecutor,
    table: string,
    key: string,
    { orgId, startedAt }: ClaimedRestamp,
    limit: number,
  ): Promise<number> {
    const rows = await tx.query(
      `UPDATE ${table} SET updated_at = clock_timestamp() WHERE ${key} IN (
         SELECT ${key} FROM ${table} WHERE ${UNSTAMPED}
          ORDER BY ${key} LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED)
       RETURNING 1 AS one`,
      { orgId, startedAt, limit },
    );
    return rows.length;
  }

  private async hasUnstamped(tx: SqlExecutor, table: string, { orgId, startedAt }: ClaimedRestamp): Promise<boolean> {
    const rows = await tx.query(`SELECT 1 AS one FROM ${table} WHERE ${UNSTAMPED} LIMIT 1`, { orgId, startedAt });
    return rows.length > 0;
  }
}
