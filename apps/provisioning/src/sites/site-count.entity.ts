import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of devices of a site without decommissioned ones. A trigger of the devices maintains it. */
@Entity('site_count')
export class SiteCount {
  @PrimaryColumn('uuid', { name: 'site_id' })
  siteId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('integer')
  devices: number;
}
