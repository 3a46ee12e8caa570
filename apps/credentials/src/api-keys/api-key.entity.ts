import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

export const API_KEY_STATUSES = ['active', 'expired', 'revoked'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

export const API_KEY_SOURCES = ['manual', 'service_principal'] as const;
export type ApiKeySource = (typeof API_KEY_SOURCES)[number];

@Entity({ name: 'api_key' })
export class ApiKey {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('uuid', { name: 'org_id' }) orgId!: string;
  @Column('text') name!: string;
  @Column('text', { name: 'key_prefix' }) keyPrefix!: string;
  @Column('bytea', { name: 'key_hash', select: false }) keyHash!: Buffer;
  /** The hash before the last rotation, while that key still works. */
  @Column('bytea', { name: 'previous_key_hash', nullable: true, select: false }) previousKeyHash!: Buffer | null;
  @Column('timestamptz', { name: 'previous_valid_until', nullable: true }) previousValidUntil!: Date | null;
  /** Increases with each rotation. */
  @Column('integer') generation!: number;
  @Column('text', { array: true }) scopes!: string[];
  @Column('text', { name: 'source_cidrs', array: true }) sourceCidrs!: string[];
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('boolean', { name: 'expiry_reminders' }) expiryReminders!: boolean;
  @Column('timestamptz', { name: 'reminded_at', nullable: true, select: false }) remindedAt!: Date | null;
  /** Requests per hour. */
  @Column('integer', { name: 'rate_limit' }) rateLimit!: number;
  @Column('text') status!: ApiKeyStatus;
  @Column('text') source!: ApiKeySource;
  @Column('uuid', { name: 'principal_id', nullable: true }) principalId!: string | null;
  @Column('uuid', { name: 'created_by', nullable: true }) createdBy!: string | null;
  @Column('timestamptz', { name: 'last_used_at', nullable: true }) lastUsedAt!: Date | null;
  @Column('bigint', { name: 'usage_count' }) usageCount!: string;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at' }) updatedAt!: Date;
}
