import { Column, Entity } from 'typeorm';
import { DeviceReport } from './device-report.entity.js';

/** The disks of a device, at most 500. */
@Entity('device_disk')
export class DeviceDisk extends DeviceReport {
  @Column('jsonb')
  disks: Record<string, unknown>[];
}
