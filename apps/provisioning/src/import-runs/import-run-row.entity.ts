import { Column, Entity, PrimaryColumn } from 'typeorm';

export const ROW_RESULTS = ['imported', 'updated', 'skipped', 'failed'] as const;
export type RowResult = (typeof ROW_RESULTS)[number];

/** A row of a file that is imported. */
@Entity('import_run_row')
export class ImportRunRow {
  @PrimaryColumn('uuid', { name: 'run_id' })
  runId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  /** Counted from 0. */
  @PrimaryColumn('integer')
  index: number;

  /** The line of the file on which it begins. */
  @Column('integer')
  line: number;

  @Column('jsonb')
  cells: string[];

  /** Its order in the import; null for a row that cannot be imported. */
  @Column('integer', { nullable: true })
  position: number | null;

  /** The effect of a commit. */
  @Column('text', { nullable: true })
  annotation: string | null;

  /** The organization that it matched, or to which it was written. */
  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('uuid', { name: 'match_id', nullable: true })
  matchId: string | null;

  @Column('text', { name: 'match_name', nullable: true })
  matchName: string | null;

  @Column('text', { nullable: true })
  reason: string | null;

  /** Null before the commit. */
  @Column('text', { nullable: true })
  result: RowResult | null;

  /** The error of a row that failed. */
  @Column('text', { nullable: true })
  code: string | null;
}
