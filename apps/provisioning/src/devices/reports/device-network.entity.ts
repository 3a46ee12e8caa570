import { Column, Entity } from 'typeorm';
import { DeviceReport } from './device-report.entity.js';

/** The network adapters of a device and their addresses, at most 500. */
@Entity('device_network')
export class DeviceNetwork extends DeviceReport {
  @Column('jsonb')
  adapters: Record<string, unknown>[];

  /**
   * The address of the primary adapter, else of the first one with an address of its vendor: 12 lower-case hex digits.
   * Computed by the database, indexed with the organization.
   */
  @Column({ type: 'text', name: 'mac_key', nullable: true, insert: false, update: false })
  macKey: string | null;
}
