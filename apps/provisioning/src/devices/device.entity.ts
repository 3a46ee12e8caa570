import { Column, Entity, PrimaryColumn } from 'typeorm';

export const OS_TYPES = ['windows', 'macos', 'linux'] as const;
export type OsType = (typeof OS_TYPES)[number];
export const DEVICE_STATUSES = ['online', 'offline', 'maintenance', 'decommissioned', 'updating', 'pending'] as const;
export type DeviceStatus = (typeof DEVICE_STATUSES)[number];

/** A managed machine of an organization and its agent. What its heartbeats change is a `DeviceState`. */
@Entity('device')
export class Device {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'site_id', nullable: true })
  siteId: string | null;

  @Column('uuid', { name: 'agent_id' })
  agentId: string;

  /** SHA-256 of the bearer token of the agent; null once the token was revoked. */
  @Column('bytea', { name: 'agent_token_hash', nullable: true, select: false })
  agentTokenHash: Buffer | null;

  @Column('uuid', { name: 'enrollment_key_id', nullable: true })
  enrollmentKeyId: string | null;

  /** The reservation of an enrollment key use that this enrollment settled. */
  @Column('uuid', { name: 'enrollment_reservation_id', nullable: true, select: false })
  enrollmentReservationId: string | null;

  @Column('text')
  hostname: string;

  /** The hostname in lower case, for comparisons and the order of lists. Computed by the database. */
  @Column({ type: 'text', name: 'hostname_key', insert: false, update: false, select: false })
  hostnameKey: string;

  @Column('text', { name: 'display_name', nullable: true })
  displayName: string | null;

  @Column('text', { name: 'os_type' })
  osType: OsType;

  @Column('text', { name: 'os_version', nullable: true })
  osVersion: string | null;

  @Column('text', { nullable: true })
  architecture: string | null;

  @Column('text', { name: 'device_role', nullable: true })
  deviceRole: string | null;

  @Column('boolean', { name: 'is_virtual', nullable: true })
  isVirtual: boolean | null;

  @Column('text', { name: 'virtualization_platform', nullable: true })
  virtualizationPlatform: string | null;

  @Column('text', { array: true })
  tags: string[];

  /** Read on request only: up to 64 KB. */
  @Column('jsonb', { name: 'custom_fields', select: false })
  customFields: Record<string, unknown>;

  @Column('timestamptz', { name: 'enrolled_at', nullable: true })
  enrolledAt: Date | null;

  /** The time of enrollment, or of creation while it is pending, for the order of lists. Computed by the database. */
  @Column({ type: 'timestamptz', name: 'enrolled_key', insert: false, update: false, select: false })
  enrolledKey: Date;

  /** Null for a device in use. */
  @Column('timestamptz', { name: 'decommissioned_at', nullable: true })
  decommissionedAt: Date | null;

  /** Rises by one with every change that is published. */
  @Column('bigint')
  version: string;

  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;
}
