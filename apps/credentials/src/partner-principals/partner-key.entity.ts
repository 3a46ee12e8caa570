import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

export const PARTNER_KEY_STATUSES = ['active', 'revoked'] as const;
export type PartnerKeyStatus = (typeof PARTNER_KEY_STATUSES)[number];

/** A key of a partner principal. */
@Entity({ name: 'partner_principal_key' })
export class PartnerKey {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'principal_id' }) principalId!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('text') name!: string;
  @Column('text', { name: 'key_prefix' }) keyPrefix!: string;
  @Column('bytea', { name: 'key_hash', select: false }) keyHash!: Buffer;
  @Column('text') status!: PartnerKeyStatus;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  /** Requests per hour. */
  @Column('integer', { name: 'rate_limit' }) rateLimit!: number;
  @Column('bigint', { name: 'usage_count', select: false }) usageCount!: string;
  @Column('timestamptz', { name: 'last_used_at', nullable: true }) lastUsedAt!: Date | null;
  @Column('timestamptz', { name: 'revoked_at', nullable: true }) revokedAt!: Date | null;
  @Column('uuid', { name: 'rotated_from_id', nullable: true }) rotatedFromId!: string | null;
  @Column('uuid', { name: 'created_by', nullable: true }) createdBy!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
}
