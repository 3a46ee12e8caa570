import { Column, Entity, PrimaryColumn } from 'typeorm';

export const POSTURE_CATEGORIES = [
  'mdm',
  'rmm',
  'remoteAccess',
  'endpointSecurity',
  'policyEngine',
  'backup',
  'identityMfa',
  'siem',
  'dnsFiltering',
  'zeroTrustVpn',
  'patchManagement',
] as const;
export type PostureCategory = (typeof POSTURE_CATEGORIES)[number];

export const DETECTION_STATUSES = ['active', 'installed', 'unknown'] as const;
export type DetectionStatus = (typeof DETECTION_STATUSES)[number];

/** A management tool that the latest scan found on a device. */
@Entity('device_posture_product')
export class DevicePostureProduct {
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId: string;

  @PrimaryColumn('text')
  category: PostureCategory;

  @PrimaryColumn('text')
  name: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('text', { nullable: true })
  version: string | null;

  @Column('text')
  status: DetectionStatus;

  @Column('text', { name: 'service_name', nullable: true })
  serviceName: string | null;

  @Column('jsonb', { nullable: true })
  details: unknown;

  /** The creation time of the device, which never changes, for the order of lists. */
  @Column('timestamptz', { name: 'device_created_at' })
  deviceCreatedAt: Date;
}
