import { Column, Entity } from 'typeorm';
import { DeviceReport } from './device-report.entity.js';

/** The installed software of a device: at most 1,000 items, and how many there are. */
@Entity('device_software')
export class DeviceSoftware extends DeviceReport {
  @Column('jsonb')
  software: Record<string, unknown>[];

  @Column('integer')
  total: number;
}
