import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ImportMode } from '../import/import-decision.policy.js';

export const IMPORT_KINDS = ['organizations', 'contacts'] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

/** Rows of a request, a file, a PSA preview, or companies that a scheduled sync found. */
export const IMPORT_SOURCES = ['rows', 'file', 'psa', 'psa_sync'] as const;
export type ImportSource = (typeof IMPORT_SOURCES)[number];

export const IMPORT_STATES = [
  'parsing',
  'annotating',
  'ready',
  'committing',
  'completed',
  'completed_with_errors',
  'cancelled',
  'failed',
  'undoing',
  'undone',
] as const;
export type ImportRunState = (typeof IMPORT_STATES)[number];

/** The states in which a replica works on the run. */
export const ACTIVE_STATES = ['parsing', 'annotating', 'committing', 'undoing'] as const;
export type ActiveImportState = (typeof ACTIVE_STATES)[number];

/** The reason a run stopped, as callers read it. */
export interface ImportFailure {
  /** The state in which it failed. */
  step?: string;
  code: string;
  error: string;
}

/** The user for whom a run works, whose access is checked again for each chunk. */
export interface ActingUserSession {
  userId: string;
  sessionId: string;
  scope: 'system' | 'partner';
  partnerId: string | null;
  orgId: string | null;
  mfa: boolean;
}

/** The choices that a commit makes for the rows it does not name. */
export interface CommitOptions {
  confirmMatches?: boolean;
  reactivate?: boolean;
  rows?: CommittedRowOptions[];
}

/** The pins and choices for one row; the same fields as in a row of the JSON import. */
export interface CommittedRowOptions {
  index: number;
  expectedAnnotation?: string;
  expectedOrganizationId?: string;
  expectedContactId?: string;
  reactivate?: boolean;
  forceCreate?: boolean;
}

/** The next chunk of the step that runs; a step that is resumed continues here. */
export interface RunProgress {
  /** The last position whose rows are done. */
  position?: number;
  /** The last row that has a position. */
  index?: number;
}

/** One import: its state, its counters and, for a file, how its columns are read. @see docs/reference/provisioning.md#import-runs */
@Entity('import_run')
export class ImportRun {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('text')
  kind: ImportKind;

  @Column('text')
  source: ImportSource;

  @Column('uuid', { name: 'connection_id', nullable: true })
  connectionId: string | null;

  @Column('text')
  state: ImportRunState;

  @Column('text', { nullable: true })
  mode: ImportMode | null;

  @Column('jsonb')
  options: CommitOptions;

  @Column('text', { name: 'file_name', nullable: true })
  fileName: string | null;

  @Column('bigint', { name: 'file_bytes', nullable: true })
  fileBytes: string | null;

  /** The header of the file. */
  @Column('jsonb', { nullable: true })
  columns: string[] | null;

  /** The column of the file for each field that is read. */
  @Column('jsonb', { nullable: true })
  mapping: Record<string, string> | null;

  /** Rows of the file or request. */
  @Column('integer')
  total: number;

  /** Rows, or while it is undone changes, that the current step has done. */
  @Column('integer')
  done: number;

  @Column('integer')
  imported: number;

  @Column('integer')
  updated: number;

  @Column('integer')
  skipped: number;

  @Column('integer')
  failed: number;

  /** Rows by their annotation. */
  @Column('jsonb')
  annotations: Record<string, number>;

  @Column('integer', { name: 'undo_restored' })
  undoRestored: number;

  @Column('integer', { name: 'undo_kept' })
  undoKept: number;

  @Column('jsonb')
  progress: RunProgress;

  @Column('jsonb', { nullable: true })
  failure: ImportFailure | null;

  /** Null for a scheduled sync. */
  @Column('uuid', { name: 'created_by', nullable: true })
  createdBy: string | null;

  @Column('jsonb', { nullable: true })
  acting: ActingUserSession | null;

  @Column('uuid', { name: 'lease_id', nullable: true })
  leaseId: string | null;

  @Column('timestamptz', { name: 'leased_until', nullable: true })
  leasedUntil: Date | null;

  @Column('timestamptz', { name: 'step_started_at', nullable: true })
  stepStartedAt: Date | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt: Date;

  @Column('timestamptz', { name: 'updated_at' })
  updatedAt: Date;

  /** When its commit ended, fully or in part; it can be undone for a time from then on. */
  @Column('timestamptz', { name: 'committed_at', nullable: true })
  committedAt: Date | null;

  @Column('timestamptz', { name: 'finished_at', nullable: true })
  finishedAt: Date | null;
}
