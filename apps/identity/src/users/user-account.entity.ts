import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';
import type { MfaMethod, UserStatus } from './user.types.js';

/** The account of a user, whatever tenants the user is a member of. */
@Entity('user_account')
export class UserAccount {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  /** Lower case, unique. */
  @Column('text')
  email: string;

  @Column('text')
  name: string;

  /** An Argon2 hash; null without a password. */
  @Column('text', { name: 'password_hash', nullable: true, select: false })
  passwordHash: string | null;

  @Column('text', { default: 'invited' })
  status: UserStatus;

  @Column('text', { name: 'disabled_reason', nullable: true })
  disabledReason: string | null;

  @Column('boolean', { name: 'is_platform_admin', default: false })
  isPlatformAdmin: boolean;

  @Column('boolean', { name: 'requires_setup', default: false })
  requiresSetup: boolean;

  @Column('timestamptz', { name: 'setup_completed_at', nullable: true })
  setupCompletedAt: Date | null;

  @Column('text', { name: 'avatar_url', nullable: true })
  avatarUrl: string | null;

  @Column('jsonb', { default: {} })
  preferences: Record<string, unknown>;

  @Column('text', { name: 'mfa_method', nullable: true })
  mfaMethod: MfaMethod | null;

  @Column('boolean', { name: 'mfa_enabled', default: false })
  mfaEnabled: boolean;

  /** When the user enrolled a factor for the first time. */
  @Column('timestamptz', { name: 'first_factor_at', nullable: true })
  firstFactorAt: Date | null;

  @Column('timestamptz', { name: 'mfa_grace_granted_at', nullable: true })
  graceGrantedAt: Date | null;

  @Column('timestamptz', { name: 'mfa_enrollment_deadline', nullable: true })
  enrollmentDeadline: Date | null;

  @Column('timestamptz', { name: 'mfa_opening_mail_at', nullable: true })
  mfaOpeningMailAt: Date | null;

  @Column('timestamptz', { name: 'mfa_ending_mail_at', nullable: true })
  mfaEndingMailAt: Date | null;

  @Column('text', { name: 'phone_number', nullable: true })
  phoneNumber: string | null;

  @Column('boolean', { name: 'phone_verified', default: false })
  phoneVerified: boolean;

  @Column('timestamptz', { name: 'email_verified_at', nullable: true })
  emailVerifiedAt: Date | null;

  /** A requested e-mail address that is not confirmed yet. */
  @Column('text', { name: 'pending_email', nullable: true })
  pendingEmail: string | null;

  @Column('timestamptz', { name: 'pending_email_requested_at', nullable: true })
  pendingEmailRequestedAt: Date | null;

  /** An increment ends every session. */
  @Column('integer', { name: 'auth_epoch', default: 1 })
  authEpoch: number;

  /** An increment ends every session that satisfied MFA. */
  @Column('integer', { name: 'mfa_epoch', default: 1 })
  mfaEpoch: number;

  /** An increment invalidates e-mailed links to verify or change the address. */
  @Column('integer', { name: 'email_epoch', default: 1 })
  emailEpoch: number;

  /** An increment invalidates e-mailed links to reset the password. */
  @Column('integer', { name: 'reset_epoch', default: 1 })
  resetEpoch: number;

  @Column('timestamptz', { name: 'last_login_at', nullable: true })
  lastLoginAt: Date | null;

  @Column('timestamptz', { name: 'password_changed_at', nullable: true })
  passwordChangedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
