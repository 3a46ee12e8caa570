import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';

/** Makes a user a member of one organization. */
@Entity('organization_membership')
export class OrganizationMembership {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  @Column('uuid', { name: 'role_id' })
  roleId: string;

  /** Null is no restriction. */
  @Column('uuid', { name: 'site_ids', array: true, nullable: true })
  siteIds: string[] | null;

  /** Null is no restriction. */
  @Column('uuid', { name: 'device_group_ids', array: true, nullable: true })
  deviceGroupIds: string[] | null;

  @Column('uuid', { name: 'invited_by', nullable: true })
  invitedBy: string | null;

  /** When a session last entered this membership. */
  @Column('timestamptz', { name: 'last_entered_at', nullable: true })
  lastEnteredAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
