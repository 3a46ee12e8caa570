import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { AUDIT_RESULTS } from './dto/audit-log.dto.js';

export type AuditResult = (typeof AUDIT_RESULTS)[number];

/** A sealed audit entry, partitioned by its time. @see docs/reference/audit.md */
@Entity('audit_entry')
export class AuditEntryRow {
  @PrimaryColumn('uuid')
  id: string;

  /** Position in the chain of the partner, counted from 1; pg returns `bigint` as text. */
  @Column('bigint')
  sequence: string;

  @Column('uuid', { name: 'partner_id', nullable: true })
  partnerId: string | null;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @PrimaryColumn('timestamptz')
  timestamp: Date;

  @Column('text', { name: 'actor_type' })
  actorType: string;

  @Column('text', { name: 'actor_id', nullable: true })
  actorId: string | null;

  @Column('text', { name: 'actor_email', nullable: true })
  actorEmail: string | null;

  @Column('text')
  action: string;

  @Column('text', { name: 'resource_type' })
  resourceType: string;

  @Column('text', { name: 'resource_id', nullable: true })
  resourceId: string | null;

  @Column('text', { name: 'resource_name', nullable: true })
  resourceName: string | null;

  @Column('jsonb', { default: {} })
  details: Record<string, unknown>;

  @Column('text', { name: 'ip_address', nullable: true })
  ipAddress: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent: string | null;

  @Column('text')
  result: AuditResult;

  @Column('text', { name: 'error_message', nullable: true })
  errorMessage: string | null;

  @Column('text', { name: 'initiated_by', nullable: true })
  initiatedBy: string | null;

  @Column('text', { name: 'request_id', nullable: true })
  requestId: string | null;

  /** The bytes that were hashed, as written. */
  @Column('text', { select: false })
  canonical: string;

  @Column('text')
  checksum: string;

  @Column('text', { name: 'previous_checksum' })
  previousChecksum: string;

  @CreateDateColumn({ name: 'sealed_at', type: 'timestamptz', select: false })
  sealedAt: Date;
}
