import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The counters of a partner. Triggers of the counted tables maintain them. */
@Entity('partner_count')
export class PartnerCount {
  @PrimaryColumn('uuid', { name: 'partner_id' })
  partnerId: string;

  /** Live organizations. */
  @Column('integer')
  organizations: number;

  /** Devices without decommissioned ones. */
  @Column('integer')
  devices: number;
}
