import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { AccessScope } from '@rmm/contracts';
import type { MfaMethod } from '../users/user.types.js';

export const SESSION_METHODS = ['password', 'passkey', 'sso', 'invite', 'registration'] as const;
export type SessionMethod = (typeof SESSION_METHODS)[number];

/** The reason for the end of a session; stored with it and in audit entries. */
export type RevokedReason =
  | 'logout'
  | 'reuse_detected'
  | 'password_change'
  | 'password_reset'
  | 'email_change'
  | 'mfa_change'
  | 'mfa_reset'
  | 'membership_gone'
  | 'not_active'
  | 'switch'
  | 'sso_enforced'
  | 'sso_logout'
  | 'sso_provider_ended'
  | 'ended_by_user';

/** A session: the family of refresh tokens that follow from one sign-in. @see docs/reference/authentication.md */
@Entity('session_family')
export class SessionFamily {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  @Column('text')
  scope: AccessScope;

  @Column('uuid', { name: 'partner_id', nullable: true })
  partnerId: string | null;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  /** True when a second factor was verified. */
  @Column('boolean')
  mfa: boolean;

  /** The method of that factor. */
  @Column('text', { nullable: true })
  factor: MfaMethod | null;

  @Column('text')
  method: SessionMethod;

  /** Epochs of the user when the session was created; the session is invalid once they differ. */
  @Column('integer', { name: 'auth_epoch' })
  authEpoch: number;

  @Column('integer', { name: 'mfa_epoch' })
  mfaEpoch: number;

  /** When the user last proved the password in this session. */
  @Column('timestamptz', { name: 'password_proof_at', nullable: true })
  passwordProofAt: Date | null;

  /** When the user last proved a second factor in this session. */
  @Column('timestamptz', { name: 'factor_proof_at', nullable: true })
  factorProofAt: Date | null;

  @Column('text', { name: 'ip_address', nullable: true })
  ipAddress: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent: string | null;

  /** When the user signed in; a session that replaces another takes it over. */
  @Column('timestamptz', { name: 'signed_in_at', default: () => 'now()' })
  signedInAt: Date;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'last_used_at', default: () => 'now()' })
  lastUsedAt: Date;

  /** The end of the session, however often it is refreshed. */
  @Column('timestamptz', { name: 'absolute_expires_at' })
  absoluteExpiresAt: Date;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;

  @Column('text', { name: 'revoked_reason', nullable: true })
  revokedReason: RevokedReason | null;

  /** The identity provider that signed the user in. */
  @Column('uuid', { name: 'sso_provider_id', nullable: true })
  ssoProviderId: string | null;

  /** Session id at that provider, by which it ends the session. */
  @Column('text', { name: 'sso_sid', nullable: true })
  ssoSid: string | null;
}
