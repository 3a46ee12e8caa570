import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A management tool that the latest scan found on a device. */
@Entity('device_posture_product')
export class DevicePostureProduct {
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId: string;

  @PrimaryColumn('text')
  category: string;

  @PrimaryColumn('text')
  name: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('text', { nullable: true })
  version: string | null;

  @Column('text')
  status: 'active' | 'installed' | 'unknown';

  @Column('text', { name: 'service_name', nullable: true })
  serviceName: string | null;

  @Column('jsonb', { nullable: true })
  details: Record<string, unknown> | null;
}
