import { Column, CreateDateColumn, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { KeptReason } from '../undo/undo-plan.types.js';

/** The effect of a run on one record. An organization that it created is one change with its sites and links. */
export type ImportChangeAction = 'create' | 'update' | 'reactivate';

export type ImportedResource = 'organization' | 'organization_link' | 'site' | 'contact' | 'contact_link';

export const IMPORT_CHANGE_OUTCOMES = ['removed', 'restored', 'kept'] as const;
export type ImportChangeOutcome = (typeof IMPORT_CHANGE_OUTCOMES)[number];

/** An entry of the journal of a run. */
@Entity('import_change')
export class ImportChange {
  @PrimaryColumn('uuid', { name: 'run_id' })
  runId: string;

  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  seq: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('text')
  resource: ImportedResource;

  @Column('text')
  action: ImportChangeAction;

  /** The record; for a link the organization or contact that has it. */
  @Column('uuid', { name: 'record_id' })
  recordId: string;

  /** The former values of what an update replaced. */
  @Column('jsonb', { nullable: true })
  before: object | null;

  /** The key of a link; the sites and links of a created organization. */
  @Column('jsonb', { nullable: true })
  after: object | null;

  /** The contents before the change. */
  @Column('uuid', { name: 'digest_before', nullable: true })
  digestBefore: string | null;

  @Column('uuid', { name: 'digest_after', nullable: true })
  digestAfter: string | null;

  /** Null while it is not undone. */
  @Column('text', { nullable: true })
  outcome: ImportChangeOutcome | null;

  /** The reason it was kept. */
  @Column('text', { nullable: true })
  reason: KeptReason | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'recorded_at' })
  recordedAt: Date;
}
