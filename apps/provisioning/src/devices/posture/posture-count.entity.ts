import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DetectionStatus, PostureCategory } from '../reports/device-posture-product.entity.js';

/** The number of devices of an organization by the day of their latest scan and by its detections. Triggers maintain it. */
@Entity('posture_count')
export class PostureCount {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  /** Empty for all scanned devices. */
  @PrimaryColumn('text')
  category: PostureCategory | '';

  /** Empty for the devices with any detection of the category. */
  @PrimaryColumn('text')
  product: string;

  /** Empty where no product is named. */
  @PrimaryColumn('text')
  status: DetectionStatus | '';

  /** In UTC. */
  @PrimaryColumn('date')
  day: string;

  @Column('integer')
  devices: number;
}
