import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';
import type { OrgAccess } from './membership.types.js';

/** Makes a user a member of a partner. */
@Entity('partner_membership')
export class PartnerMembership {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  @Column('uuid', { name: 'role_id' })
  roleId: string;

  @Column('text', { name: 'org_access', default: 'all' })
  orgAccess: OrgAccess;

  /** The organizations of `selected`; else empty. */
  @Column('uuid', { name: 'org_ids', array: true, default: {} })
  orgIds: string[];

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
