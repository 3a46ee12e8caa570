import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of devices of an organization without decommissioned ones. A trigger of the devices maintains it. */
@Entity('organization_count')
export class OrganizationCount {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('integer')
  devices: number;
}
