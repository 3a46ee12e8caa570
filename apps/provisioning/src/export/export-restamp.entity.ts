import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A request, which a trigger inserts, to stamp the records of an organization that is visible again. */
@Entity('export_restamp')
export class ExportRestamp {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  /** When a replica first claimed it. */
  @Column('timestamptz', { name: 'started_at', nullable: true })
  startedAt: Date | null;
}
