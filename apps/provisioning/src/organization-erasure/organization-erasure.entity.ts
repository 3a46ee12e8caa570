import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** The erasure of a deleted organization. */
@Entity('organization_erasure')
export class OrganizationErasure {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @CreateDateColumn({ type: 'timestamptz', name: 'requested_at' })
  requestedAt: Date;

  /** Null before it begins. */
  @Column('timestamptz', { name: 'started_at', nullable: true })
  startedAt: Date | null;

  /** When the services were last asked to erase their parts. */
  @Column('timestamptz', { name: 'announced_at', nullable: true })
  announcedAt: Date | null;

  /** When the last part was erased. */
  @Column('timestamptz', { name: 'finished_at', nullable: true })
  finishedAt: Date | null;
}
