import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The part of a partner that credentials needs, as identity published it last. */
@Entity({ name: 'partner_directory' })
export class PartnerDirectoryEntry {
  @PrimaryColumn('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('text') name!: string;
  @Column('text') status!: string;
  /** The longest lifetime of an enrollment key; null for no limit. */
  @Column('integer', { name: 'enrollment_max_ttl_minutes', nullable: true }) enrollmentMaxTtlMinutes!: number | null;
  @Column('bigint') version!: string;
}
