import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';
import type { AccessScope } from '@rmm/contracts';
import { bigintAsNumber } from '../bigint.transformer.js';

/** A seeded role (without a partner), a partner's copy of one, or a custom role of a partner or an organization. */
@Entity('role')
export class Role {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id', nullable: true })
  partnerId: string | null;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('uuid', { name: 'parent_role_id', nullable: true })
  parentRoleId: string | null;

  @Column('text')
  scope: AccessScope;

  @Column('text')
  name: string;

  @Column('text', { nullable: true })
  description: string | null;

  @Column('boolean', { name: 'is_system', default: false })
  isSystem: boolean;

  @Column('boolean', { name: 'force_mfa', default: false })
  forceMfa: boolean;

  /** The key of the seeded role, which a partner's copy keeps. */
  @Column('text', { name: 'system_key', nullable: true })
  systemKey: string | null;

  @Column('bigint', { default: 1, transformer: bigintAsNumber })
  version: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
