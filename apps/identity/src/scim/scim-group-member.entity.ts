import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The membership of a user in a group. */
@Entity('scim_group_member')
export class ScimGroupMember {
  @PrimaryColumn('uuid', { name: 'group_id' })
  groupId: string;

  @PrimaryColumn('uuid', { name: 'scim_user_id' })
  scimUserId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;
}
