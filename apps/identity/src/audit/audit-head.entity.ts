import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The last link of a chain of audit entries. */
@Entity('audit_head')
export class AuditHeadRow {
  /** The id of a partner, or `platform`. */
  @PrimaryColumn('text')
  chain: string;

  @Column('uuid', { name: 'partner_id', nullable: true })
  partnerId: string | null;

  /** pg returns `bigint` as text. */
  @Column('bigint')
  sequence: string;

  @Column('text')
  checksum: string;

  @Column('timestamptz', { name: 'sealed_at', default: () => 'now()' })
  sealedAt: Date;
}
