import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The membership of a device in a group of its organization. */
@Entity('device_group_member')
export class DeviceGroupMember {
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId: string;

  @PrimaryColumn('uuid', { name: 'group_id' })
  groupId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;
}
