import { Column, Entity } from 'typeorm';
import { DeviceReport } from './device-report.entity.js';

/** The network adapters of a device and their addresses, at most 500. */
@Entity('device_network')
export class DeviceNetwork extends DeviceReport {
  @Column('jsonb')
  adapters: Record<string, unknown>[];
}
