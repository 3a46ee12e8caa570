import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Identifies an organization in another system; unique per partner, system, PSA connection or none, and id. */
@Entity('external_link')
export class ExternalLink {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  /** The PSA connection whose companies the ids are; null for links of other imports. */
  @Column('uuid', { name: 'connection_id', nullable: true })
  connectionId: string | null;

  @Column('text')
  system: string;

  @Column('text', { name: 'external_id' })
  externalId: string;

  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;
}
