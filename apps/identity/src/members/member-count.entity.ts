import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of members of a partner or an organization. Triggers of the membership tables maintain it. */
@Entity('member_count')
export class MemberCount {
  /** The partner's id, or the organization's. */
  @PrimaryColumn('uuid', { name: 'owner_id' })
  ownerId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('integer')
  members: number;
}
