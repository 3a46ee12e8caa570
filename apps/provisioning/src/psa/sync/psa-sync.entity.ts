import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TruncationReason } from '../list-companies.js';

/** `propose` lists new companies for a decision, `import` imports those that match no organization. */
export const SYNC_RULES = ['propose', 'import'] as const;
export type SyncRule = (typeof SYNC_RULES)[number];

export const SYNC_OUTCOMES = ['success', 'failed', 'skipped'] as const;
export type SyncOutcome = (typeof SYNC_OUTCOMES)[number];

/** The result of the last run. */
export interface SyncResult {
  outcome: SyncOutcome;
  /** Companies that were read. */
  fetched: number;
  /** New proposals. */
  proposed: number;
  /** Organizations that were created. */
  imported: number;
  /** Companies whose name differs from that of their organization. */
  renamed: number;
  truncationReason: TruncationReason | null;
  /** The import run, when something was imported. */
  runId: string | null;
  /** The reason of a run that failed or was skipped; contains no secret and nothing that the PSA sent. */
  error: { code: string; message: string } | null;
}

/** The scheduled sync of a connection; a connection without a row has none. */
@Entity('psa_sync')
export class PsaSync {
  @PrimaryColumn('uuid', { name: 'connection_id' })
  connectionId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('boolean')
  enabled: boolean;

  @Column('text')
  rule: SyncRule;

  @Column('integer', { name: 'interval_minutes' })
  intervalMinutes: number;

  /** Null unless enabled. */
  @Column('timestamptz', { name: 'next_run_at', nullable: true })
  nextRunAt: Date | null;

  /** The run of the replica that has the lease. */
  @Column('uuid', { name: 'lease_id', nullable: true })
  leaseId: string | null;

  @Column('timestamptz', { name: 'leased_until', nullable: true })
  leasedUntil: Date | null;

  /** Failed runs since the last one that succeeded. */
  @Column('integer')
  failures: number;

  /** The last failures in a row that the PSA refused for the credentials. */
  @Column('integer', { name: 'credential_failures' })
  credentialFailures: number;

  /** The reason for which the schedule disabled itself. */
  @Column('text', { name: 'disabled_reason', nullable: true })
  disabledReason: 'credentials' | null;

  /** When the administrators were mailed that it disabled itself. */
  @Column('timestamptz', { name: 'mailed_at', nullable: true })
  mailedAt: Date | null;

  @Column('timestamptz', { name: 'last_run_at', nullable: true })
  lastRunAt: Date | null;

  @Column('jsonb', { name: 'last_result', nullable: true })
  lastResult: SyncResult | null;

  @Column('uuid', { name: 'configured_by', nullable: true })
  configuredBy: string | null;

  @Column('timestamptz', { name: 'configured_at' })
  configuredAt: Date;
}
