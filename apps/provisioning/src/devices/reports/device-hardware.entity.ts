import { Column, Entity } from 'typeorm';
import { DeviceReport } from './device-report.entity.js';

/** The hardware of a device, as its agent reported it. */
@Entity('device_hardware')
export class DeviceHardware extends DeviceReport {
  @Column('jsonb')
  hardware: Record<string, unknown>;

  /** Computed by the database from the hardware. */
  @Column({ type: 'text', name: 'serial_number', nullable: true, insert: false, update: false })
  serialNumber: string | null;
}
