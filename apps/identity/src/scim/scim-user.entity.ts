import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';

/** A user of an organization as its identity provider keeps it. @see docs/reference/scim.md */
@Entity('scim_user')
export class ScimUser {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'provider_id' })
  providerId: string;

  /** The account. */
  @Column('uuid', { name: 'user_id' })
  userId: string;

  @Column('text', { name: 'user_name' })
  userName: string;

  @Column('text', { name: 'external_id', nullable: true })
  externalId: string | null;

  @Column('text')
  email: string;

  @Column('text', { name: 'email_type' })
  emailType: string;

  @Column('text', { name: 'display_name', nullable: true })
  displayName: string | null;

  @Column('text', { name: 'given_name', nullable: true })
  givenName: string | null;

  @Column('text', { name: 'family_name', nullable: true })
  familyName: string | null;

  @Column('boolean')
  active: boolean;

  /** The account was created by SCIM, and belongs to this organization as long as it has no other use. */
  @Column('boolean', { name: 'owns_account' })
  ownsAccount: boolean;

  /** The role of a member who was taken over; it counts when no group gives one. */
  @Column('uuid', { name: 'kept_role_id', nullable: true })
  keptRoleId: string | null;

  /** Restrictions of the membership that ended; it gets them back. */
  @Column('uuid', { name: 'site_ids', array: true, nullable: true })
  siteIds: string[] | null;

  @Column('uuid', { name: 'device_group_ids', array: true, nullable: true })
  deviceGroupIds: string[] | null;

  /** The version of the provider whose role settings apply to the user. */
  @Column('integer', { name: 'settings_version' })
  settingsVersion: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
