import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, TenantRepository, WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PsaSync, type SyncResult, type SyncRule } from './psa-sync.entity.js';

/** A run of one replica. */
export type PsaSyncClaim = Pick<
  PsaSync,
  'connectionId' | 'partnerId' | 'rule' | 'intervalMinutes' | 'failures' | 'credentialFailures'
> & { leaseId: string };

export interface PsaSyncSettings {
  connectionId: string;
  partnerId: string;
  enabled: boolean;
  rule: SyncRule;
  intervalMinutes: number;
  configuredBy: string | null;
}

/** The state after a run. */
export interface PsaSyncEnd {
  result: SyncResult;
  failures: number;
  credentialFailures: number;
  /** Null disables the sync. */
  nextInSeconds: number | null;
}

/** Longer than a run takes; a process that ends leaves its run to another one after that time. */
const LEASE_SECONDS = 600;

/** One run of a partner at a time, so that a partner with many connections leaves replicas to the others. */
const CLAIM = `
  WITH due AS (
    SELECT s.connection_id FROM psa_sync s JOIN psa_connection c ON c.id = s.connection_id
     WHERE s.enabled AND s.next_run_at <= now() AND (s.leased_until IS NULL OR s.leased_until < now())
       AND c.status <> 'paused'
       AND NOT EXISTS (SELECT FROM psa_sync o WHERE o.partner_id = s.partner_id AND o.leased_until >= now())
     ORDER BY s.next_run_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED)
  UPDATE psa_sync s SET lease_id = gen_random_uuid(), leased_until = now() + make_interval(secs => :leaseSeconds)
    FROM due WHERE s.connection_id = due.connection_id
  RETURNING s.connection_id AS "connectionId", s.partner_id AS "partnerId", s.rule, s.failures,
            s.interval_minutes AS "intervalMinutes", s.credential_failures AS "credentialFailures", s.lease_id AS "leaseId"`;

/** A sync that disabled itself. */
export interface DisabledSync {
  connectionId: string;
  partnerId: string;
  name: string;
  provider: string;
  lastRunAt: Date;
}

/** An interval that gets shorter moves the next run forward; enabling a sync runs it at once. */
const SAVE = `
  INSERT INTO psa_sync AS s (connection_id, partner_id, enabled, rule, interval_minutes, next_run_at, configured_by)
  VALUES (:connectionId, :partnerId, :enabled, :rule, :intervalMinutes, CASE WHEN :enabled THEN now() END, :configuredBy)
  ON CONFLICT (connection_id) DO UPDATE
    SET enabled = excluded.enabled, rule = excluded.rule, interval_minutes = excluded.interval_minutes,
        next_run_at = CASE WHEN excluded.enabled
          THEN least(coalesce(s.next_run_at, now()), now() + make_interval(mins => excluded.interval_minutes)) END,
        failures = 0, credential_failures = 0, disabled_reason = NULL, mailed_at = NULL,
        configured_by = excluded.configured_by, configured_at = now()`;

/** Syncs that disabled themselves, of connections that are left. */
const UNMAILED = `
  SELECT s.connection_id AS "connectionId", s.partner_id AS "partnerId", c.name, c.provider, s.last_run_at AS "lastRunAt"
    FROM psa_sync s JOIN psa_connection c ON c.id = s.connection_id
   WHERE s.disabled_reason IS NOT NULL AND s.mailed_at IS NULL ORDER BY s.last_run_at LIMIT :limit`;

@Injectable()
export class PsaSyncsRepository extends TenantRepository<PsaSync> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, PsaSync, () => new NotFoundError('PSA sync'), { ownership: 'partner' });
  }

  find(source: Caller | TenantTransaction, connectionId: string): Promise<PsaSync | null> {
    return this.findOne(source, { where: { connectionId } });
  }

  async save(tx: TenantTransaction, settings: PsaSyncSettings): Promise<PsaSync> {
    await tx.query(SAVE, { ...settings });
    return this.getOne(tx, { where: { connectionId: settings.connectionId } });
  }

  /** Makes an enabled sync due. @returns null when it is not enabled */
  async scheduleNow(tx: TenantTransaction, connectionId: string): Promise<PsaSync | null> {
    const [row] = await this.update(tx, { connectionId, enabled: true }, { nextRunAt: () => 'now()' });
    return row ?? null;
  }

  /** Leases the sync that is due for the longest time; null when none is due. */
  async claim(): Promise<PsaSyncClaim | null> {
    const [claim] = await this.worker.query<PsaSyncClaim>(CLAIM, { leaseSeconds: LEASE_SECONDS });
    return claim ?? null;
  }

  /** Ends the lease and leaves the sync due, for another replica. */
  async release({ connectionId, leaseId }: PsaSyncClaim): Promise<void> {
    await this.worker.query(
      `UPDATE psa_sync SET lease_id = NULL, leased_until = NULL WHERE connection_id = :connectionId AND lease_id = :leaseId`,
      { connectionId, leaseId },
    );
  }

  /** Locks a leased sync until the transaction ends. @returns false when the lease is lost, or the sync was disabled since */
  async lockLeased(tx: TenantTransaction, { connectionId, leaseId }: PsaSyncClaim): Promise<boolean> {
    const where = { connectionId, leaseId, enabled: true };
    return (await this.findOne(tx, { where, lock: 'FOR UPDATE', columns: ['connectionId'] })) !== null;
  }

  /** Stores the result and the time of the next run, and ends the lease. */
  async finish(tx: TenantTransaction, { connectionId, leaseId }: PsaSyncClaim, end: PsaSyncEnd): Promise<void> {
    const { result, failures, credentialFailures, nextInSeconds: seconds } = end;
    const isDisabled = seconds === null;
    await this.update(
      tx,
      { connectionId, leaseId },
      {
        leaseId: () => 'NULL',
        leasedUntil: () => 'NULL',
        lastRunAt: () => 'now()',
        lastResult: result,
        failures,
        credentialFailures,
        enabled: !isDisabled,
        nextRunAt: () => (isDisabled ? 'NULL' : 'now() + make_interval(secs => :seconds)'),
        ...(isDisabled && { disabledReason: 'credentials' as const }),
      },
      isDisabled ? {} : { seconds },
    );
  }

  /** Lists syncs that disabled themselves and whose administrators do not know yet. */
  listUnmailed(limit: number): Promise<DisabledSync[]> {
    return this.worker.query<DisabledSync>(UNMAILED, { limit });
  }

  /** Stores that the administrators know, unless the sync was configured again. */
  async markMailed({ connectionId, lastRunAt }: DisabledSync): Promise<void> {
    await this.worker.query(
      `UPDATE psa_sync SET mailed_at = now()
        WHERE connection_id = :connectionId AND disabled_reason IS NOT NULL AND last_run_at = :lastRunAt`,
      { connectionId, lastRunAt },
    );
  }

  /** Makes a sync propose instead of import. */
  async changeToPropose(tx: TenantTransaction, { connectionId }: PsaSyncClaim): Promise<void> {
    await this.update(tx, { connectionId }, { rule: 'propose' });
  }

  /** Returns whether an import of this sync was undone since it was configured: its companies must not come back by themselves. */
  async hasUndoneImport(caller: Caller, { connectionId, partnerId }: PsaSyncClaim): Promise<boolean> {
    const rows = await this.tenants.read(
      caller,
      `SELECT 1 AS one FROM psa_sync s
         JOIN import_run r ON r.connection_id = s.connection_id AND r.partner_id = s.partner_id
        WHERE s.partner_id = :partnerId AND s.connection_id = :connectionId AND r.source = 'psa_sync'
          AND r.state IN ('undoing', 'undone') AND r.created_at >= s.configured_at LIMIT 1`,
      { connectionId, partnerId },
    );
    return rows.length > 0;
  }
}
