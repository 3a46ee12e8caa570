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

  /**
   * The serial number in upper case, letters and digits only; null without one and for placeholders of vendors. Computed by
   * the database, indexed with the organization.
   */
  @Column({ type: 'text', name: 'serial_key', nullable: true, insert: false, update: false })
  serialKey: string | null;
}
