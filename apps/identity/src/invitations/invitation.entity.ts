import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';
import type { OrgAccess } from '../members/membership.types.js';

/**
 * A membership that its user has not accepted yet, and the link to accept it. It grants nothing and counts for nothing.
 * After the acceptance the row only answers for the used link.
 */
@Entity('invitation')
export class Invitation {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  /** Address and name as the tenant gave them: it sees nothing else of the account. */
  @Column('text')
  email: string;

  @Column('text')
  name: string;

  /** Null once accepted. */
  @Column('uuid', { name: 'role_id', nullable: true })
  roleId: string | null;

  @Column('text', { name: 'org_access', default: 'all' })
  orgAccess: OrgAccess;

  @Column('uuid', { name: 'org_ids', array: true, default: {} })
  orgIds: string[];

  @Column('uuid', { name: 'site_ids', array: true, nullable: true })
  siteIds: string[] | null;

  @Column('uuid', { name: 'device_group_ids', array: true, nullable: true })
  deviceGroupIds: string[] | null;

  @Column('uuid', { name: 'invited_by', nullable: true })
  invitedBy: string | null;

  @Column('bytea', { name: 'token_hash' })
  tokenHash: Buffer;

  /** True when the link was sent to the mailbox alone, so that its use proves the address. */
  @Column('boolean')
  mailed: boolean;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('timestamptz', { name: 'accepted_at', nullable: true })
  acceptedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
