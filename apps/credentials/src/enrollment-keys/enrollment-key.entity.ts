import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

export const ENROLLMENT_KEY_STATUSES = ['active', 'expired', 'exhausted'] as const;
export type EnrollmentKeyStatus = (typeof ENROLLMENT_KEY_STATUSES)[number];

@Entity({ name: 'enrollment_key' })
export class EnrollmentKey {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('uuid', { name: 'org_id' }) orgId!: string;
  @Column('uuid', { name: 'site_id', nullable: true }) siteId!: string | null;
  @Column('text') name!: string;
  @Column('bytea', { name: 'key_hash', select: false }) keyHash!: Buffer;
  @Column('bytea', { name: 'secret_hash', nullable: true, select: false }) secretHash!: Buffer | null;
  /** Increases with each rotation. */
  @Column('integer') generation!: number;
  @Column('integer', { name: 'usage_count' }) usageCount!: number;
  @Column('integer', { name: 'max_usage', nullable: true }) maxUsage!: number | null;
  @Column('timestamptz', { name: 'expires_at' }) expiresAt!: Date;
  @Column('uuid', { name: 'created_by', nullable: true }) createdBy!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
}
